//! Defines caps on what is reported about one inode, so that a damaged one does not hide the others' findings.

/// Findings about the blocks of one directory, or the extents of one decoding task, after which the rest is skipped.
pub(crate) const BAD_PARTS: u32 = 64;

/// Levels of directories that a path in a finding has at most.
pub(crate) const PATH_LEVELS: usize = 2048;

/// Bytes that a path in a finding has at most.
pub(crate) const PATH_BYTES: usize = 4096;
