//! Defines sizes and addresses that all stages keep to.

/// The most bytes of a file that are compressed as one. No pcluster crosses the border of two segments, so few and
/// large ones make smaller images.
pub(crate) const SEGMENT: u64 = 16 << 20;

/// The most encoders that a worker keeps. Some need a hundred times as much memory as a pcluster, and files of one coding
/// are mostly stored together.
pub(crate) const MOST_ENCODERS: usize = 3;

/// The most entries of a chunk table, of 4 or 8 bytes: enough for a petabyte with data anywhere. A file of holes can have any
/// size.
pub(crate) const CHUNKS: u64 = 1 << 26;

/// Bytes of the longest target of a symbolic link: Linux takes 4096 with the NUL at its end.
pub(crate) const SYMLINK: usize = 4095;

/// The last block address that 32 bits hold. It means "no address" in chunk tables and inodes.
const NO_ADDRESS: u64 = u32::MAX as u64;

/// The first block, from `start` on, from which `blocks` contiguous blocks avoid the address that means "none".
pub(crate) const fn past_no_address(start: u64, blocks: u64) -> u64 {
    if start <= NO_ADDRESS && NO_ADDRESS < start + blocks { NO_ADDRESS + 1 } else { start }
}
