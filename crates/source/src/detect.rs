//! Detects the type of a file by its first bytes.

use crate::tar::is_header;

/// The number of first bytes by which the type of a file is detected.
pub const NEEDED: usize = 1152;

/// How a tar is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compression {
    /// RFC 1952.
    Gzip,
    /// The .xz format.
    Xz,
    /// RFC 8878.
    Zstd,
    /// bzip2.
    Bzip2,
}

impl Compression {
    /// The name for messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// The type of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Looks {
    /// A tar's first header, or the zeros of an empty tar.
    Tar,
    /// A compressed stream, presumably of a tar or a cpio archive.
    Compressed(Compression),
    /// A cpio archive of the formats newc or crc.
    Cpio,
    /// A zip archive.
    Zip,
    /// An EROFS image.
    Image,
    /// A SquashFS image.
    SquashFs,
    /// A file that can't be read as a tree, with its type for messages.
    Other(&'static str),
}

/// The superblock's position and its magic number, little-endian 0xE0F5E1E2.
const EROFS: (usize, &[u8]) = (1024, b"\xe2\xe1\xf5\xe0");

/// Other filesystems, whose superblocks are not at the start.
const FILESYSTEMS: [(usize, &[u8], &str); 2] = [
    (1080, b"\x53\xef", "an ext2, ext3 or ext4 filesystem"),
    (1024, b"\x10\x20\xf5\xf2", "an F2FS filesystem"),
];

const COMPRESSIONS: [(&[u8], Compression); 4] = [
    (b"\x1f\x8b", Compression::Gzip),
    (b"\xfd7zXZ\0", Compression::Xz),
    (b"\x28\xb5\x2f\xfd", Compression::Zstd),
    (b"BZh", Compression::Bzip2),
];

/// The formats newc, and crc, which has checksums.
const CPIO: [&[u8]; 2] = [b"070701", b"070702"];

/// The first member of a zip archive, and the end of one without members.
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Other types that users are likely to try, with their names in the error.
const OTHERS: [(&[u8], &str); 11] = [
    (b"sqsh", "a SquashFS image of big-endian byte order"),
    (b"\x04\x22\x4d\x18", "LZ4-compressed data"),
    (b"\x02\x21\x4c\x18", "LZ4-compressed data"),
    (b"LZIP", "lzip-compressed data"),
    (b"\x1f\x9d", "compress-compressed data"),
    (b"\x5d\0\0", "LZMA-compressed data"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"070707", "a cpio archive of an old format (odc), not newc"),
    (b"\xc7\x71", "a cpio archive of an old format (bin), not newc"),
    (b"\x71\xc7", "a cpio archive of an old format (bin), not newc"),
    (b"\x7fELF", "a program"),
];

/// Detects the type of a file by its first [`NEEDED`] bytes, or all if it has fewer.
pub(crate) fn detect(start: &[u8]) -> Looks {
    if start.is_empty() {
        return Looks::Other("empty");
    }
    let block = start.get(..512);
    if block.is_some_and(is_header) {
        return Looks::Tar;
    }
    if start.get(EROFS.0..).is_some_and(|at| at.starts_with(EROFS.1)) {
        return Looks::Image;
    }
    if CPIO.iter().any(|magic| start.starts_with(magic)) {
        return Looks::Cpio;
    }
    if ZIP.iter().any(|magic| start.starts_with(magic)) {
        return Looks::Zip;
    }
    if start.starts_with(&lith_squashfs::MAGIC) {
        return Looks::SquashFs;
    }
    if let Some((_, found)) = COMPRESSIONS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Looks::Compressed(*found);
    }
    if is_skippable_frame(start) {
        return Looks::Compressed(Compression::Zstd);
    }
    if block.is_some_and(|block| block.iter().all(|byte| *byte == 0)) {
        return Looks::Tar;
    }
    Looks::Other(other(start).unwrap_or("something else"))
}

fn other(start: &[u8]) -> Option<&'static str> {
    let at_start = OTHERS.iter().find(|(magic, _)| start.starts_with(magic)).map(|found| found.1);
    let is_at =
        |at: &usize, magic: &[u8]| start.get(*at..).is_some_and(|bytes| bytes.starts_with(magic));
    let filesystem = || FILESYSTEMS.iter().find(|(at, magic, _)| is_at(at, magic));
    at_start.or_else(|| filesystem().map(|found| found.2))
}

/// What a file is that is no EROFS image, in words such as `a SquashFS image`, by its first [`NEEDED`] bytes, or all if it has
/// fewer; `None`: an image, or unknown.
#[must_use]
pub fn foreign_type(start: &[u8]) -> Option<&'static str> {
    match detect(start) {
        Looks::Tar if start.iter().take(512).any(|byte| *byte != 0) => Some("a tar"),
        Looks::Compressed(Compression::Gzip) => Some("gzip-compressed data"),
        Looks::Compressed(Compression::Xz) => Some("xz-compressed data"),
        Looks::Compressed(Compression::Zstd) => Some("zstd-compressed data"),
        Looks::Compressed(Compression::Bzip2) => Some("bzip2-compressed data"),
        Looks::Cpio => Some("a cpio archive"),
        Looks::Zip => Some("a zip archive"),
        Looks::SquashFs => Some("a SquashFS image"),
        Looks::Image => None,
        Looks::Other("empty") => Some("empty"),
        Looks::Tar | Looks::Other(_) => other(start),
    }
}

/// Whether a file is a SquashFS image, by its first bytes.
#[must_use]
pub fn is_squashfs(start: &[u8]) -> bool {
    detect(start) == Looks::SquashFs
}

/// Whether a file is a tar that has members, a cpio or zip archive, or compressed as one may be, by its first [`NEEDED`] bytes, or all if
/// it has fewer.
#[must_use]
pub fn is_archive(start: &[u8]) -> bool {
    let is_zero = || start.iter().take(512).all(|byte| *byte == 0);
    match detect(start) {
        Looks::Tar => !is_zero(),
        Looks::Cpio | Looks::Zip | Looks::Compressed(_) => true,
        Looks::Image | Looks::SquashFs | Looks::Other(_) => false,
    }
}

/// Zstandard streams may begin with a frame that holds no data, as pzstd's do.
fn is_skippable_frame(start: &[u8]) -> bool {
    matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_detected_by_magic_numbers() {
        let mut image = vec![0; 4096];
        image[1024..1028].copy_from_slice(EROFS.1);
        assert_eq!(detect(&image), Looks::Image);
        assert_eq!(detect(&[0; 1024]), Looks::Tar);
        let cases: [(&[u8], Looks); 11] = [
            (b"\x1f\x8b\x08", Looks::Compressed(Compression::Gzip)),
            (b"\xfd7zXZ\0", Looks::Compressed(Compression::Xz)),
            (b"BZh9", Looks::Compressed(Compression::Bzip2)),
            (b"\x5a\x2a\x4d\x18\0", Looks::Compressed(Compression::Zstd)),
            (b"", Looks::Other("empty")),
            (b"hsqs...", Looks::SquashFs),
            (b"070701", Looks::Cpio),
            (b"070702", Looks::Cpio),
            (b"PK\x03\x04", Looks::Zip),
            (b"PK\x05\x06", Looks::Zip),
            (b"hello", Looks::Other("something else")),
        ];
        for (start, expected) in cases {
            assert_eq!(detect(start), expected, "{start:?}");
        }
    }

    #[test]
    fn a_file_that_is_no_image_has_a_name_if_its_type_is_known() {
        let mut ext4 = vec![0; 4096];
        ext4[1080..1082].copy_from_slice(b"\x53\xef");
        assert_eq!(foreign_type(&ext4), Some("an ext2, ext3 or ext4 filesystem"));
        let cases: [(&[u8], Option<&str>); 5] = [
            (&[0; 1024], None),
            (b"\x1f\x8b\x08", Some("gzip-compressed data")),
            (b"sqs", None),
            (b"hsqs", Some("a SquashFS image")),
            (b"", Some("empty")),
        ];
        for (start, expected) in cases {
            assert_eq!(foreign_type(start), expected, "{start:?}");
        }
    }
}
