//! Detects the type of a file by its first bytes.

use crate::tar::is_header;

/// The number of first bytes that [`detect`] needs.
pub(crate) const NEEDED: usize = 1028;

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
    /// A compressed stream, presumably of a tar.
    Compressed(Compression),
    /// An EROFS image.
    Image,
    /// A file that can't be read as a tree, with its type for messages.
    Other(&'static str),
}

/// The superblock's position and its magic number, little-endian 0xE0F5E1E2.
const EROFS: (usize, &[u8]) = (1024, b"\xe2\xe1\xf5\xe0");

const COMPRESSIONS: [(&[u8], Compression); 4] = [
    (b"\x1f\x8b", Compression::Gzip),
    (b"\xfd7zXZ\0", Compression::Xz),
    (b"\x28\xb5\x2f\xfd", Compression::Zstd),
    (b"BZh", Compression::Bzip2),
];

/// Other types that users are likely to try, with their names in the error.
const OTHERS: [(&[u8], &str); 9] = [
    (b"PK\x03\x04", "a zip archive"),
    (b"hsqs", "a SquashFS image"),
    (b"\x04\x22\x4d\x18", "LZ4-compressed data"),
    (b"LZIP", "lzip-compressed data"),
    (b"\x1f\x9d", "compress-compressed data"),
    (b"\x5d\0\0", "LZMA-compressed data"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"0707", "a cpio archive"),
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
    if let Some((_, found)) = COMPRESSIONS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Looks::Compressed(*found);
    }
    if is_skippable_frame(start) {
        return Looks::Compressed(Compression::Zstd);
    }
    if block.is_some_and(|block| block.iter().all(|byte| *byte == 0)) {
        return Looks::Tar;
    }
    let other = OTHERS.iter().find(|(magic, _)| start.starts_with(magic));
    Looks::Other(other.map_or("something else", |(_, name)| name))
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
        let cases: [(&[u8], Looks); 7] = [
            (b"\x1f\x8b\x08", Looks::Compressed(Compression::Gzip)),
            (b"\xfd7zXZ\0", Looks::Compressed(Compression::Xz)),
            (b"BZh9", Looks::Compressed(Compression::Bzip2)),
            (b"\x5a\x2a\x4d\x18\0", Looks::Compressed(Compression::Zstd)),
            (b"", Looks::Other("empty")),
            (b"hsqs...", Looks::Other("a SquashFS image")),
            (b"hello", Looks::Other("something else")),
        ];
        for (start, expected) in cases {
            assert_eq!(detect(start), expected, "{start:?}");
        }
    }
}
