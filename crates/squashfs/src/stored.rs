//! Defines [`StoredBlock`], where a data or fragment block is and how it is stored.

use crate::Corruption;

/// Set in the stored size of a block that is not compressed.
const UNCOMPRESSED: u32 = 1 << 24;

/// A block as it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StoredBlock {
    /// Where it is.
    pub(crate) position: u64,
    /// Its size in bytes.
    pub(crate) size: u32,
    pub(crate) is_compressed: bool,
}

impl StoredBlock {
    /// The block at a position, by the size that is stored of it. At most `most` bytes are possible.
    pub(crate) fn new(position: u64, word: u32, most: u32) -> Result<Self, Corruption> {
        let size = word & !UNCOMPRESSED;
        if size > most {
            return Err(Corruption::BlockSizeExceeded { position, size });
        }
        Ok(Self { position, size, is_compressed: word & UNCOMPRESSED == 0 })
    }
}
