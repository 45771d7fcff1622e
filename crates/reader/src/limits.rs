//! How much may one image ask for, whatever its bytes say?
//!
//! Beside these, an extent decodes to at most 12 MiB ([`lith_format::zmap::MAX_EXTENT_LEN`]), the largest buffer
//! that reading a file takes, and a pcluster has at most 1 MiB ([`lith_format::zmap::MAX_PCLUSTER_SIZE`]): Linux
//! refuses more. Xattr bodies and single entries stay below 256 KiB by the width of their fields.

/// Caps on what an image can make a reader do, and the sizes of its caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes in a symlink's target: Linux' `PATH_MAX` without its NUL.
    pub symlink: u64,
    /// Symlinks followed in one path, as on Linux: a loop of links ends here.
    pub follow: u32,
    /// Bytes in a directory: more than sixty million entries of the longest names.
    pub directory: u64,
    /// Bytes of metadata (inodes, directories, indexes) kept at hand.
    pub metadata_cache: usize,
    /// Bytes of content kept: extents that are decoded in part or that many files share, and an eighth of it for stored
    /// bytes whose end is not decoded yet.
    pub decoded_cache: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            symlink: 4095,
            follow: 40,
            directory: 16 << 30,
            metadata_cache: 8 << 20,
            decoded_cache: 16 << 20,
        }
    }
}
