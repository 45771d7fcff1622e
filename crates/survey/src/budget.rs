//! Defines [`Budget`]: how much work the size of an image justifies.
//!
//! Structures of an image can refer to the same bytes again and again, so that a small image can require years of
//! work. Sound images stay far below these bounds.

use lith_reader::{Image, Inode};

/// Bytes that may be read of the smallest image.
const FLOOR: u64 = 64 << 20;

/// Known ranges that may be met while ranges of the smallest image are added.
const STEPS: u64 = 4 << 20;

/// Work of one kind that may still be done.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    left: u64,
    is_exhausted: bool,
}

/// Whether work may be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grant {
    /// It may be done.
    Given,
    /// It must not be done; this is the first refusal of the allowance.
    FirstRefusal,
    /// It must not be done, as before.
    Refused,
}

impl Allowance {
    /// An allowance of `units`.
    #[must_use]
    pub const fn new(units: u64) -> Self {
        Self { left: units, is_exhausted: false }
    }

    /// Takes `units`. After a refusal nothing is granted any more, not even 0 units.
    pub const fn take(&mut self, units: u64) -> Grant {
        if self.is_exhausted {
            return Grant::Refused;
        }
        if let Some(left) = self.left.checked_sub(units) {
            self.left = left;
            return Grant::Given;
        }
        self.is_exhausted = true;
        Grant::FirstRefusal
    }
}

/// The bounds for all kinds of work.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Budget {
    /// Extents; and the same for indexes of lclusters. Each has at least two bytes of metadata of its own.
    pub extents: Allowance,
    /// Bytes of directories. Names are stored once, except for those of equal directories in a packed inode.
    pub directories: Allowance,
    /// Stored bytes that are decoded again as part of another extent.
    pub repeated: Allowance,
    /// Bytes of xattrs. Each is stored once.
    pub xattrs: Allowance,
    /// Known ranges that may be met while ranges are added to one [`RangeMap`](crate::RangeMap): sound images have
    /// fewer inodes and extents.
    pub steps: Allowance,
}

impl Budget {
    /// The budget for `image`.
    #[must_use]
    pub fn new(image: &Image) -> Self {
        let size = |inode: Option<&Inode>| inode.map_or(0, |inode| inode.size);
        let metabox = size(image.metabox_inode());
        let metadata = image.device_size(0).saturating_add(metabox);
        let content = metabox.saturating_add(size(image.packed_inode()));
        let stored = devices_size(image).saturating_add(content);
        let times =
            |factor: u64| Allowance::new(FLOOR.saturating_add(stored.saturating_mul(factor)));
        Self {
            extents: Allowance::new(metadata.saturating_add(1)),
            directories: times(16),
            repeated: times(4),
            xattrs: times(4),
            steps: Allowance::new(STEPS.saturating_add(stored / 32)),
        }
    }
}

/// Bytes of all devices of an image.
#[must_use]
pub fn devices_size(image: &Image) -> u64 {
    let extra = image.device_map().slots.iter().zip(1..);
    let extra = extra.map(|(_, device)| image.device_size(device));
    extra.fold(image.device_size(0), u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_grants_nothing_after_a_refusal() {
        let mut allowance = Allowance::new(10);
        assert_eq!(allowance.take(4), Grant::Given);
        assert_eq!(allowance.take(7), Grant::FirstRefusal);
        assert_eq!(allowance.take(1), Grant::Refused);
        let mut exact = Allowance::new(10);
        assert_eq!(exact.take(10), Grant::Given);
        assert_eq!(exact.take(1), Grant::FirstRefusal);
        assert_eq!(exact.take(0), Grant::Refused);
    }
}
