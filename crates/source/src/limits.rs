//! How much may a source claim before it is not believed?

/// Bytes of one extended header, long name or sparse map of a tar. GNU tar's largest in practice are
/// sparse maps; this holds a map of a million stretches.
pub(crate) const EXTENSION: u64 = 16 << 20;

/// Bytes of all global headers' records that are in force. They hold for every member that follows,
/// so they are looked through again for each.
pub(crate) const GLOBAL: u64 = 64 << 10;

/// Bytes of a tar member's path: sixteen times what one system call takes. Each two bytes can make a
/// directory, so a path is paid for many times over.
pub(crate) const PATH: u64 = 64 << 10;

/// Extension headers in front of one member; real ones have at most four.
pub(crate) const EXTENSIONS: u32 = 16;

/// The largest size of a file: what Linux' `loff_t` holds.
pub(crate) const FILE_SIZE: u64 = i64::MAX as u64;

/// Memory that an xz stream may make its decoder take. `xz -9` needs 65 MiB.
pub(crate) const XZ_MEMORY: u64 = 256 << 20;

/// Bytes that `listxattr` and `getxattr` give at most (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
pub(crate) const XATTR: usize = 64 << 10;

/// Bytes that one system call takes as a path, with the NUL at its end.
pub(crate) const PATH_MAX: usize = 4096;

/// Threads that scan a directory. More gain nothing on a local disk.
pub(crate) const SCANNERS: usize = 4;
