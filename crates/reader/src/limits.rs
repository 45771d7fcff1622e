//! Defines the limits of what an untrusted image can make the reader do.
//!
//! The format has limits too: an extent decodes to at most 12 MiB ([`lith_format::zmap::MAX_EXTENT_LEN`]), the largest
//! buffer that reading a file needs, and a pcluster has at most 1 MiB ([`lith_format::zmap::MAX_PCLUSTER_SIZE`]): Linux
//! refuses more. Xattr bodies and single entries are below 256 KiB by the width of their fields.

/// Limits of what an image can make the reader do, and the sizes of its caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes in a symlink's target: Linux' `PATH_MAX` without its NUL.
    pub symlink: u64,
    /// Symlinks followed in one path, as on Linux: this ends loops of links.
    pub follow: u32,
    /// Bytes in a directory: more than sixty million entries of the longest names.
    pub directory: u64,
    /// Bytes of metadata (inodes, directories, indexes) in the cache.
    pub metadata_cache: usize,
    /// Bytes of content in the cache: extents decoded in part or shared by many files. An eighth of it is for stored
    /// bytes of extents whose end is not decoded yet.
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
