//! Defines the limits of what an untrusted image may claim, and the sizes of caches.

/// The most bytes in a metadata block, decoded: `SQUASHFS_METADATA_SIZE`. All but the last one of a table have as many.
pub(crate) const METADATA: usize = 8192;

/// Bytes in a symlink's target: Linux' `PATH_MAX` without its NUL.
pub(crate) const SYMLINK: u32 = 4095;

/// Bytes of all names, and of each value, of an inode's extended attributes: what `listxattr` and `getxattr` return at most.
pub(crate) const XATTR: usize = 64 << 10;

/// Memory that an LZMA stream may require of its decoder. No block is larger than 1 MiB, but encoders may declare a larger
/// dictionary: 8 MiB is the default of xz.
pub(crate) const LZMA_MEMORY: u64 = 64 << 20;

/// Decoded metadata blocks that are kept.
pub(crate) const METADATA_CACHE: usize = 8 << 20;

/// Decoded fragment blocks, and blocks that were read in part, that are kept.
pub(crate) const DATA_CACHE: usize = 32 << 20;
