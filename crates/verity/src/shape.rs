//! Defines [`Shape`]: where the blocks of a hash tree are.

use crate::{Superblock, VerityError, hash::DIGEST_SIZE, superblock::SUPERBLOCK_SIZE};

/// Where the blocks of a hash tree are. Blocks of digests are counted from the first one after the superblock.
///
/// The level above the data is the last one, and the block at the top is the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Blocks of data.
    pub(crate) data_blocks: u64,
    /// Bytes of a block of data.
    pub(crate) data_block: u32,
    /// Bytes of a block of digests.
    pub(crate) hash_block: u32,
    /// From the one above the data to the top. Empty: the root hash is the digest of the only block.
    pub(crate) levels: Vec<Level>,
    /// Where the first block of digests is.
    start: u64,
    /// After the last one.
    end: u64,
}

/// Blocks of digests that all are so far from the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Level {
    /// Its first block.
    pub(crate) first: u64,
    pub(crate) blocks: u64,
}

impl Shape {
    /// The shape of the tree after a superblock at byte `hash_offset`.
    ///
    /// # Errors
    /// [`VerityError::Size`] if it has no block, or more than 64-bit addresses reach; [`VerityError::Superblock`] if its blocks
    /// have another size than they can.
    pub fn new(superblock: &Superblock, hash_offset: u64) -> Result<Self, VerityError> {
        superblock.check()?;
        let data_blocks = superblock.data_blocks;
        let size = VerityError::Size { data_blocks };
        let data_end = data_blocks.checked_mul(superblock.data_block.into());
        if data_blocks == 0 || data_end.is_none() {
            return Err(size);
        }
        let per_block = u64::from(superblock.hash_block) / DIGEST_SIZE as u64;
        let (mut counts, mut blocks) = (Vec::new(), data_blocks);
        while blocks > 1 {
            blocks = blocks.div_ceil(per_block);
            counts.push(blocks);
        }
        let mut above = 0;
        let mut levels: Vec<_> = counts
            .into_iter()
            .rev()
            .map(|blocks| {
                let first = above;
                above += blocks;
                Level { first, blocks }
            })
            .collect();
        levels.reverse();
        let block = u64::from(superblock.hash_block);
        let start = hash_offset.checked_add(SUPERBLOCK_SIZE as u64);
        let start = start.and_then(|end| end.checked_next_multiple_of(block));
        let end = start.and_then(|start| start.checked_add(above.checked_mul(block)?));
        let (Some(start), Some(end)) = (start, end) else { return Err(size) };
        let (data_block, hash_block) = (superblock.data_block, superblock.hash_block);
        Ok(Self { data_blocks, data_block, hash_block, levels, start, end })
    }

    /// Bytes of data.
    #[must_use]
    pub const fn data_bytes(&self) -> u64 {
        self.data_blocks * self.data_block as u64
    }

    /// The byte after the tree.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// The byte at which a block of digests starts.
    pub(crate) const fn position(&self, block: u64) -> u64 {
        self.start + block * self.hash_block as u64
    }

    /// Digests in a block.
    pub(crate) const fn per_block(&self) -> u64 {
        self.hash_block as u64 / DIGEST_SIZE as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(data_blocks: u64, block: u32, offset: u64) -> Result<Shape, VerityError> {
        let (uuid, salt) = ([0; 16], Vec::new());
        let superblock =
            Superblock { uuid, data_block: block, hash_block: block, data_blocks, salt };
        Shape::new(&superblock, offset)
    }

    #[test]
    fn the_top_is_first() {
        let levels = |blocks| {
            let levels = shape(blocks, 4096, 0).unwrap().levels;
            levels.into_iter().map(|level| (level.first, level.blocks)).collect::<Vec<_>>()
        };
        assert_eq!(levels(1), []);
        assert_eq!(levels(2), [(0, 1)]);
        assert_eq!(levels(128), [(0, 1)]);
        assert_eq!(levels(129), [(1, 2), (0, 1)]);
        assert_eq!(levels(128 * 128 + 1), [(3, 129), (1, 2), (0, 1)]);
    }

    #[test]
    fn it_starts_behind_the_superblock() {
        let start = |block, offset| shape(9, block, offset).unwrap().position(0);
        assert_eq!(start(4096, 0), 4096);
        assert_eq!(start(4096, 8192), 12288);
        assert_eq!(start(512, 0), 512);
        assert_eq!(shape(129, 4096, 4096).unwrap().end(), 5 * 4096);
    }

    #[test]
    fn sizes_out_of_reach_are_refused() {
        for (blocks, offset) in [(0, 0), (u64::MAX, 0), (1 << 52, 0), (2, u64::MAX - 4000)] {
            assert!(shape(blocks, 4096, offset).is_err(), "{blocks} {offset}");
        }
        assert_eq!(shape((1 << 52) - 1, 4096, 0).unwrap().levels.len(), 8);
    }
}
