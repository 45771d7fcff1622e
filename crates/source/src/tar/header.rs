//! Defines [`MemberHeader`], the 512-byte header of a member.

use lith_tree::{Rdev, Timestamp};
use tar::Header;

use super::error::Damage;
use crate::limits;

/// Bytes in a tar's block.
pub(super) const BLOCK: usize = 512;

pub(super) type Block = [u8; BLOCK];

/// The header of a member with a verified checksum.
pub(super) struct MemberHeader(Header);

/// Whether a block is a member's header, by its checksum.
pub(crate) fn is_header(block: &[u8]) -> bool {
    block.try_into().is_ok_and(|block| MemberHeader::new(block).is_ok())
}

impl MemberHeader {
    /// Verifies the checksum of a header.
    pub(super) fn new(block: &Block) -> Result<Self, Damage> {
        let mut header = Header::new_old();
        header.as_mut_bytes().copy_from_slice(block);
        if is_sound(&header) {
            return Ok(Self(header));
        }
        let expected = sum(&header, i32::from).unsigned_abs();
        Err(Damage::Checksum { expected })
    }

    /// The type flag's byte.
    pub(super) fn flag(&self) -> u8 {
        self.0.entry_type().as_byte()
    }

    pub(super) fn path(&self) -> Vec<u8> {
        self.0.path_bytes().into_owned()
    }

    pub(super) fn link(&self) -> Vec<u8> {
        self.0.link_name_bytes().unwrap_or_default().into_owned()
    }

    /// Bytes of data that follow.
    pub(super) fn size(&self) -> Result<u64, Damage> {
        size("size", &self.0.as_old().size)
    }

    pub(super) fn permissions(&self) -> Result<u16, Damage> {
        let field = &self.0.as_old().mode;
        let mode = number(field).map(|mode| u16::try_from(mode & 0o7777).expect("twelve bits"));
        mode.ok_or_else(|| bad("mode", field))
    }

    pub(super) fn uid(&self) -> Result<u32, Damage> {
        id("uid", &self.0.as_old().uid)
    }

    pub(super) fn gid(&self) -> Result<u32, Damage> {
        id("gid", &self.0.as_old().gid)
    }

    pub(super) fn mtime(&self) -> Result<Timestamp, Damage> {
        let field = &self.0.as_old().mtime;
        let sec = number(field).ok_or_else(|| bad("mtime", field))?;
        Ok(Timestamp { sec, nsec: 0 })
    }

    /// The device number; 0:0 in a header of a format without one.
    pub(super) fn rdev(&self) -> Result<Rdev, Damage> {
        let (major, minor) = match (self.0.as_ustar(), self.0.as_gnu()) {
            (Some(ustar), _) => (&ustar.dev_major, &ustar.dev_minor),
            (_, Some(gnu)) => (&gnu.dev_major, &gnu.dev_minor),
            _ => return Ok(Rdev::default()),
        };
        Ok(Rdev { major: id("devmajor", major)?, minor: id("devminor", minor)? })
    }

    /// The fields of GNU's old sparse format: the file's size, its first stretches, and whether a block with more of them
    /// follows.
    pub(super) fn gnu_sparse(&self) -> Result<(u64, &[u8], bool), Damage> {
        let bytes = self.0.as_bytes();
        let size = size("realsize", &bytes[483..495])?;
        Ok((size, &bytes[386..482], bytes[482] != 0))
    }
}

/// Whether the checksum is right, as a sum of unsigned bytes or, as some old programs write it, of signed ones.
fn is_sound(header: &Header) -> bool {
    let Some(stated) = number(&header.as_old().cksum) else {
        return false;
    };
    let unsigned = sum(header, i32::from);
    let signed = sum(header, |byte| i32::from(byte.cast_signed()));
    stated == i64::from(unsigned) || stated == i64::from(signed)
}

/// The sum of the header's bytes, those of the checksum counted as spaces.
fn sum(header: &Header, value: impl Fn(u8) -> i32) -> i32 {
    let sum_of = |bytes: &[u8]| bytes.iter().map(|byte| value(*byte)).sum::<i32>();
    let spaces = 8 * i32::from(b' ');
    sum_of(header.as_bytes()) - sum_of(&header.as_old().cksum) + spaces
}

/// A numeric field: octal digits between spaces and NULs, empty (0), or a first bit that is set and then a big-endian number
/// in two's complement.
pub(super) fn number(field: &[u8]) -> Option<i64> {
    match field {
        [first, rest @ ..] if *first & 0x80 != 0 => {
            let start = if *first & 0x40 == 0 { 0 } else { -1_i128 };
            let start = (start << 6) | i128::from(*first & 0x3f);
            let number = rest.iter().fold(start, |number, byte| (number << 8) | i128::from(*byte));
            i64::try_from(number).ok()
        }
        _ => octal(field),
    }
}

fn octal(field: &[u8]) -> Option<i64> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | 0);
    let start = field.iter().position(|byte| *byte != b' ').unwrap_or(field.len());
    let digits = field.get(start..)?;
    let end = digits.iter().position(is_blank).unwrap_or(digits.len());
    digits.get(..end)?.iter().try_fold(0_i64, |number, byte| match byte {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(i64::from(byte - b'0')),
        _ => None,
    })
}

/// A size from a numeric field.
pub(super) fn size(name: &'static str, field: &[u8]) -> Result<u64, Damage> {
    let size = number(field).and_then(|size| u64::try_from(size).ok());
    size.filter(|size| *size <= limits::FILE_SIZE).ok_or_else(|| bad(name, field))
}

fn id(name: &'static str, field: &[u8]) -> Result<u32, Damage> {
    number(field).and_then(id_of).ok_or_else(|| bad(name, field))
}

/// A number of 32 bits; negative numbers mean large ones, as -2 for `nobody`.
fn id_of(number: i64) -> Option<u32> {
    u32::try_from(number).ok().or_else(|| i32::try_from(number).ok().map(i32::cast_unsigned))
}

fn bad(field: &'static str, found: &[u8]) -> Damage {
    Damage::Number { field, found: found.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_all_forms() {
        let cases: [(&[u8], Option<i64>); 12] = [
            (b"0000644\0", Some(0o644)),
            (b"   644 \0", Some(0o644)),
            (b"777777777777", Some(0o777_777_777_777)),
            (b"        ", Some(0)),
            (b"\0\0\0\0", Some(0)),
            (b"12x4\0", None),
            (b"-1\0", None),
            (b"\x80\0\0\0\0\0\x01\0", Some(256)),
            (b"\xff\xff\xff\xff\xff\xff\xff\xfe", Some(-2)),
            (b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", Some(i64::MAX)),
            (b"\x80\0\0\0\x80\0\0\0\0\0\0\0", None),
            (b"\xff\xff\xff\xff\x80\0\0\0\0\0\0\0", Some(i64::MIN)),
        ];
        for (field, expected) in cases {
            assert_eq!(number(field), expected, "{field:?}");
        }
    }

    #[test]
    fn ids_of_more_than_32_bits_are_refused() {
        assert_eq!(id_of(-2), Some(0xffff_fffe));
        assert_eq!(id_of(0xffff_ffff), Some(0xffff_ffff));
        assert_eq!(id_of(0x1_0000_0000), None);
        assert_eq!(id_of(-0x8000_0001), None);
    }

    #[test]
    fn only_the_two_checksums_are_right() {
        let mut header = Header::new_ustar();
        header.as_mut_bytes()[..2].copy_from_slice(b"\xffa");
        for (signed, expected) in [(false, true), (true, true)] {
            let sum =
                sum(
                    &header,
                    |byte| {
                        if signed { i32::from(byte.cast_signed()) } else { i32::from(byte) }
                    },
                );
            let field = format!("{sum:06o}\0 ");
            header.as_mut_bytes()[148..156].copy_from_slice(field.as_bytes());
            assert_eq!(is_header(header.as_bytes()), expected);
        }
        header.as_mut_bytes()[0] ^= 1;
        assert!(!is_header(header.as_bytes()));
        assert!(!is_header(&[0; 512]) && !is_header(&[]));
    }
}
