//! Where does each inode lie, and each directory?
//!
//! Behind the data come the blocks of directories and long symlinks, then the shared extended attributes,
//! then all inodes with their inline tails and tables. So listing a tree reads one stretch of the image.

mod blocks;
mod record;

use lith_format::addr::{Blkaddr, BlockBits, Nid};

pub(crate) use blocks::OPEN_BLOCKS;
pub(crate) use record::{
    Leads, Record, Records, context, dirent_type, entries_with_dots, inline_tail, map_header,
};

use self::blocks::OpenBlocks;
use crate::BuildError;

/// The places of everything but file content.
#[derive(Debug)]
pub(crate) struct Placement {
    block: BlockBits,
    /// The first block of directories and symlinks that are not wholly inline.
    pub(crate) content_start: u64,
    /// Byte position of the shared extended attributes.
    pub(crate) shared_start: u64,
    /// Byte position of each inode, by its number in the tree.
    positions: Vec<u64>,
    /// The block that NIDs count from.
    pub(crate) meta_blkaddr: Blkaddr,
    /// Blocks of the image.
    pub(crate) blocks: u64,
}

impl Placement {
    /// Places everything from byte `free` on, which must be a multiple of 32.
    pub(crate) fn new(records: &Records<'_>, free: u64) -> Result<Self, BuildError> {
        let block = records.block();
        let size = u64::from(block.size());
        let content_blocks: u64 =
            records.iter().map(|r| block.blocks_for(r.content_in_blocks())).sum();
        let (content_start, shared_start) = if content_blocks == 0 {
            (block.blocks_for(free), free)
        } else {
            let start = block.blocks_for(free);
            (start, (start + content_blocks) * size)
        };
        let shared_end = shared_start + records.shared_area().len() as u64;
        let mut open = OpenBlocks::new(shared_end.next_multiple_of(Nid::SLOT), block);
        let mut positions = vec![0; records.inodes()];
        for record in records.iter() {
            let position = open.place(record.head(), record.tail());
            if let Some(slot) = positions.get_mut(record.index.index()) {
                *slot = position;
            }
        }
        let root = positions.first().copied().unwrap_or(0);
        let blocks = block.blocks_for(open.end());
        if blocks > u64::from(u32::MAX) {
            return Err(BuildError::TooLarge { limit: u32::MAX.into() });
        }
        let meta_blkaddr = meta_block(root, size);
        Ok(Self { block, content_start, shared_start, positions, meta_blkaddr, blocks })
    }

    /// Byte position of an inode.
    pub(crate) fn position(&self, inode: lith_tree::InodeIndex) -> u64 {
        self.positions.get(inode.index()).copied().unwrap_or(0)
    }

    /// NID of an inode.
    pub(crate) fn nid(&self, inode: lith_tree::InodeIndex) -> Nid {
        let base = self.meta_blkaddr.0 * u64::from(self.block.size());
        Nid((self.position(inode) - base) / Nid::SLOT)
    }

    /// The block that shared attribute ids count from.
    pub(crate) fn xattr_blkaddr(&self) -> Blkaddr {
        Blkaddr(self.shared_start / u64::from(self.block.size()))
    }
}

/// The block to count NIDs from: that of the root, which lies first, or the one before if the root would
/// be number 0, which in other places means none.
fn meta_block(root: u64, block: u64) -> Blkaddr {
    let root_block = root / block;
    Blkaddr(if root.is_multiple_of(block) { root_block.saturating_sub(1) } else { root_block })
}
