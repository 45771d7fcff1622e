//! Defines caps on what is reported about one inode, so that a damaged one does not hide the others' findings.

/// Damaged blocks after which the rest of a directory is not read.
pub(crate) const BAD_BLOCKS: u32 = 64;

/// Damaged extents of one piece of a file that are reported.
pub(crate) const BAD_EXTENTS: u32 = 64;

/// Levels of directories that a path in a finding has at most.
pub(crate) const PATH_LEVELS: usize = 2048;

/// Bytes that a path in a finding has at most.
pub(crate) const PATH_BYTES: usize = 4096;
