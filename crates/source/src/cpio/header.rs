//! Defines [`Header`], the header of a member.

use lith_tree::Rdev;

use super::error::CpioDamage;

/// Bytes of a header.
pub(super) const LENGTH: usize = 110;

/// Bytes of the magic number at its start.
pub(super) const MAGIC: usize = 6;

/// Digits of a field.
const DIGITS: usize = 8;

/// The fields, by the names of `cpio(5)`.
const FIELDS: [&str; 13] = [
    "ino",
    "mode",
    "uid",
    "gid",
    "nlink",
    "mtime",
    "filesize",
    "devmajor",
    "devminor",
    "rdevmajor",
    "rdevminor",
    "namesize",
    "check",
];

/// The header of a member: numbers of 32 bits in hexadecimal digits.
pub(super) struct Header {
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) nlink: u32,
    /// Seconds since 1970.
    pub(super) mtime: u32,
    /// Bytes of data.
    pub(super) size: u32,
    /// Bytes of the name, with the NUL byte at its end.
    pub(super) name: u32,
    /// Of a device.
    pub(super) rdev: Rdev,
    /// The sum of the bytes of a regular file; `None`: the format has none.
    pub(super) sum: Option<u32>,
    /// The numbers of the device and of the inode, which names of one file share.
    pub(super) file: (u32, u32, u32),
}

impl Header {
    pub(super) fn new(bytes: &[u8; LENGTH]) -> Result<Self, CpioDamage> {
        let (magic, digits) = bytes.split_at(MAGIC);
        let has_sum = match magic {
            b"070701" => false,
            b"070702" => true,
            other => return Err(CpioDamage::Magic(other.into())),
        };
        let mut numbers = [0; FIELDS.len()];
        for ((number, field), digits) in
            numbers.iter_mut().zip(FIELDS).zip(digits.chunks_exact(DIGITS))
        {
            let found = || CpioDamage::Number { field, found: digits.into() };
            *number = hexadecimal(digits).ok_or_else(found)?;
        }
        let [ino, mode, uid, gid, nlink, mtime, size, device @ .., name, sum] = numbers;
        let [major, minor, rdev_major, rdev_minor] = device;
        Ok(Self {
            mode,
            uid,
            gid,
            nlink,
            mtime,
            size,
            name,
            rdev: Rdev { major: rdev_major, minor: rdev_minor },
            sum: has_sum.then_some(sum),
            file: (major, minor, ino),
        })
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        number.checked_mul(16)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_in_their_order() {
        let digits: Vec<_> = (1..=13).map(|field| format!("{field:08X}")).collect();
        let bytes = format!("070702{}", digits.concat());
        let header = Header::new(bytes.as_bytes().try_into().unwrap()).unwrap();
        assert_eq!(header.file, (8, 9, 1));
        assert_eq!([header.mode, header.uid, header.gid, header.nlink], [2, 3, 4, 5]);
        assert_eq!([header.mtime, header.size, header.name], [6, 7, 12]);
        assert_eq!((header.rdev, header.sum), (Rdev { major: 10, minor: 11 }, Some(13)));
    }

    #[test]
    fn digits_are_hexadecimal() {
        assert_eq!(hexadecimal(b"fFfFfFfF"), Some(u32::MAX));
        assert_eq!(hexadecimal(b"0000000a"), Some(10));
        for wrong in [&b"0000000g"[..], b"+0000001", b"       1", b"0x000001", b"\0\0\0\0\0\0\0\0"]
        {
            assert_eq!(hexadecimal(wrong), None, "{wrong:?}");
        }
    }
}
