//! Defines the limits of extents and pclusters.

/// The largest pcluster that kernels read, in bytes.
pub const MAX_PCLUSTER_SIZE: u64 = 1 << 20;

/// The longest decoded extent that kernels read, in bytes; tail fragments may be longer.
pub const MAX_EXTENT_LEN: u64 = 12 << 20;

/// The largest pcluster that an index can state, in blocks: CBLKCNT has 11 bits.
pub const MAX_PCLUSTER_BLOCKS: u16 = 2047;
