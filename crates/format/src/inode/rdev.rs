//! Defines the device numbers of device inodes.

/// A device number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rdev {
    /// The driver, 12 bits on disk.
    pub major: u32,
    /// The driver's device, 20 bits on disk.
    pub minor: u32,
}

impl Rdev {
    /// The device number that `i_u` holds.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Self {
        Self { major: raw >> 8 & 0xfff, minor: raw & 0xff | raw >> 12 & 0xf_ff00 }
    }

    /// The value of `i_u`, unless the number has more bits than that.
    #[must_use]
    pub const fn to_raw(self) -> Option<u32> {
        if self.major > 0xfff || self.minor > 0xf_ffff {
            return None;
        }
        Some(self.minor & 0xff | self.major << 8 | (self.minor & !0xff) << 12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_numbers_surround_the_major_number() {
        let rdev = Rdev { major: 259, minor: 0x12345 };
        assert_eq!(rdev.to_raw(), Some(0x1231_0345));
        assert_eq!(Rdev::from_raw(0x1231_0345), rdev);
    }

    #[test]
    fn numbers_beyond_12_and_20_bits_have_no_form() {
        assert_eq!(Rdev { major: 0x1000, minor: 0 }.to_raw(), None);
        assert_eq!(Rdev { major: 0, minor: 0x10_0000 }.to_raw(), None);
        let most = Rdev { major: 0xfff, minor: 0xf_ffff };
        assert_eq!(most.to_raw().map(Rdev::from_raw), Some(most));
    }
}
