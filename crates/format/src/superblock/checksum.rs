//! Computes and verifies the checksum of block 0.

use super::{SUPERBLOCK_POSITION, error::SuperblockError};
use crate::addr::BlockBits;

/// Bytes from the superblock's start that its checksum covers: the rest of block 0, or a whole block
/// where blocks are no larger than what precedes the superblock.
#[must_use]
pub fn checksummed_size(block: BlockBits) -> usize {
    let size = u64::from(block.size());
    let covered = if size > SUPERBLOCK_POSITION { size - SUPERBLOCK_POSITION } else { size };
    usize::try_from(covered).expect("a block has at most 64 KiB")
}

/// The checksum to store, of `bytes` from the superblock's start on; the field itself counts as zero.
/// It is a CRC-32C without the final inversion.
///
/// # Errors
/// There are fewer bytes than [`checksummed_size`].
pub fn checksum(bytes: &[u8], block: BlockBits) -> Result<u32, SuperblockError> {
    let needed = checksummed_size(block);
    let truncated = SuperblockError::Truncated { found: bytes.len(), needed };
    let covered = bytes.get(..needed).ok_or(truncated)?;
    let (magic, rest) = covered.split_at_checked(4).ok_or(truncated)?;
    let (_checksum, rest) = rest.split_at_checked(4).ok_or(truncated)?;
    let head = crc32c::crc32c_append(crc32c::crc32c(magic), &[0; 4]);
    Ok(!crc32c::crc32c_append(head, rest))
}

/// Checks the stored checksum of `bytes`, which begin at the superblock's start.
///
/// # Errors
/// There are fewer bytes than [`checksummed_size`], or the checksum is wrong.
pub fn verify_checksum(bytes: &[u8], block: BlockBits) -> Result<(), SuperblockError> {
    let computed = checksum(bytes, block)?;
    let stored = bytes.get(4..8).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    if stored == computed {
        return Ok(());
    }
    Err(SuperblockError::Checksum { stored, computed })
}
