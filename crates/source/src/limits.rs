//! Defines limits of what an untrusted source may claim.

/// Bytes of one extended header, long name or sparse map of a tar. The largest in practice are sparse maps; a map of a
/// million stretches fits.
pub(crate) const EXTENSION: u64 = 16 << 20;

/// Bytes of the records of all global headers in force. They apply to every following member, so they are copied for each.
pub(crate) const GLOBAL: u64 = 64 << 10;

/// Bytes of a tar member's path: sixteen times the limit of a system call. Every two bytes can make a directory, so a path
/// costs many times its length.
pub(crate) const PATH: u64 = 64 << 10;

/// Extension headers before one member; real tars have at most four.
pub(crate) const EXTENSIONS: u32 = 16;

/// The largest size of a file: the maximum of Linux' `loff_t`.
pub(crate) const FILE_SIZE: u64 = i64::MAX as u64;

/// Memory that an xz stream may require of its decoder. `xz -9` requires 65 MiB.
pub(crate) const XZ_MEMORY: u64 = 256 << 20;

/// Bytes that `listxattr` and `getxattr` return at most (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
pub(crate) const XATTR: usize = 64 << 10;

/// Bytes of the longest path that a system call takes, with the NUL at its end.
pub(crate) const PATH_MAX: usize = 4096;

/// Bytes of the longest target of a symbolic link: a path without the NUL at its end.
pub(crate) const SYMLINK: usize = PATH_MAX - 1;

/// Threads that scan a directory. More gain nothing on a local disk.
pub(crate) const SCANNERS: usize = 4;

/// Bytes of all different sets of extended attributes of a SquashFS image. Sets can share their values, so their number justifies no
/// memory; root filesystems have a few hundred sets of less than 100 bytes.
pub(crate) const SQUASHFS_XATTRS: usize = 256 << 20;

/// Bytes of an index, a manifest or a configuration of a container image: what registries take.
pub(crate) const OCI_DOCUMENT: u64 = 4 << 20;

/// Indexes of container images inside one another; real ones have two.
pub(crate) const OCI_INDEXES: usize = 4;
