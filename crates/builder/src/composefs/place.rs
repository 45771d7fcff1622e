//! Defines [`Placement`]: where each inode is, and how its content is stored.

use lith_format::{
    addr::{Blkaddr, Nid},
    chunk::ChunkFormat,
    dirent::directory_size,
    file_type::FileType,
    inode::{Inode, InodeContext, InodeData, InodeForm, Layout},
    superblock::{SUPERBLOCK_POSITION, SUPERBLOCK_SIZE},
};
use lith_tree::{InodeIndex, Kind, Timestamp, Tree};

use super::{
    form::{BLOCK, is_elsewhere},
    order::Order,
};
use crate::{
    BuildError,
    plan::{XattrPlan, entries_with_dots, inode_of},
};

/// Bytes of a block.
const BLOCK_SIZE: u64 = BLOCK.size() as u64;

/// Bytes of an entry of a chunk table.
const CHUNK_ENTRY: u64 = 4;

/// The most chunks of a file: their table has to fit into the rest of a block, wherever in its slot that begins.
const MOST_CHUNKS: u64 = (BLOCK_SIZE - Nid::SLOT) / CHUNK_ENTRY;

/// Where the inodes of a tree are.
pub(super) struct Placement {
    /// The time that compact inodes have: the earliest.
    pub(super) time: Timestamp,
    /// By the rank of the inode.
    places: Vec<Place>,
    /// Where inodes end and shared attributes begin.
    pub(super) inodes_end: u64,
    /// The first block of directories and symlinks.
    pub(super) data_start: u64,
    /// Blocks of the image.
    pub(super) blocks: u64,
}

/// Where an inode is, and how its content is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) nid: Nid,
    form: InodeForm,
    /// Blocks of its content.
    pub(super) blocks: u64,
    /// Bytes of its content, or of its chunk table, that follow it.
    pub(super) tail: u64,
}

impl Placement {
    pub(super) fn new(tree: &Tree, order: &Order, xattrs: &XattrPlan) -> Result<Self, BuildError> {
        let times = order.inodes().iter().map(|inode| tree.get(*inode).metadata.mtime);
        let time = times.min().unwrap_or_default();
        let places = Vec::with_capacity(order.inodes().len());
        let mut placement = Self { time, places, inodes_end: 0, data_start: 0, blocks: 0 };
        let mut position = SUPERBLOCK_POSITION + SUPERBLOCK_SIZE as u64;
        let mut blocks = 0;
        for index in order.inodes() {
            let (mut block_count, mut tail) = split(tree, *index)?;
            let inode = inode(tree, *index, (block_count, tail), xattrs);
            let form = inode.smallest_form(&placement.context());
            let set = tree.get(*index).metadata.xattrs;
            let head = (form.size() + xattrs.body_size(*index, set)) as u64;
            position = position.next_multiple_of(Nid::SLOT);
            if inode.file_type == FileType::Symlink {
                position += before_symlink(position, head + tail);
                if head + tail >= BLOCK_SIZE {
                    (block_count, tail) = (block_count + 1, 0);
                }
            } else {
                position += before_tail(position + head, tail);
            }
            let nid = Nid(position / Nid::SLOT);
            placement.places.push(Place { nid, form, blocks: block_count, tail });
            position += head + tail;
            blocks += block_count;
        }
        placement.inodes_end = position.next_multiple_of(Nid::SLOT);
        let shared = xattrs.shared_area.len() as u64;
        placement.data_start = BLOCK.blocks_for(placement.inodes_end + shared);
        placement.blocks = placement.data_start + blocks;
        Ok(placement)
    }

    /// What compact inodes take from the superblock.
    pub(super) const fn context(&self) -> InodeContext {
        InodeContext { epoch: self.time.sec, fixed_nsec: self.time.nsec, wide: false }
    }

    /// The place of the inode of a rank.
    pub(super) fn place(&self, rank: usize) -> Place {
        *self.places.get(rank).expect("every inode of the order is placed")
    }

    /// Bytes of the image.
    pub(super) const fn end(&self) -> u64 {
        self.blocks * BLOCK_SIZE
    }

    pub(super) fn compact_inodes(&self) -> u64 {
        let compact = self.places.iter().filter(|place| place.form == InodeForm::Compact);
        compact.count() as u64
    }

    /// An inode whose blocks begin at `start`.
    pub(super) fn inode(
        &self,
        (tree, order): (&Tree, &Order),
        (index, start): (InodeIndex, u64),
        xattrs: &XattrPlan,
    ) -> Inode {
        let rank = order.rank(index);
        let Place { form, blocks, tail, .. } = self.place(rank);
        let mut inode = inode(tree, index, (blocks, tail), xattrs);
        (inode.form, inode.ino) = (form, u32::try_from(rank).expect("ranks have 32 bits"));
        if blocks > 0 {
            inode.data = InodeData::Blocks { start: Some(Blkaddr(start)) };
        }
        inode
    }
}

/// Zeros before the inode of a symlink, so that its target is in the same block.
const fn before_symlink(position: u64, size: u64) -> u64 {
    if position / BLOCK_SIZE == (position + size - 1) / BLOCK_SIZE {
        0
    } else {
        position.next_multiple_of(BLOCK_SIZE) - position
    }
}

/// Zeros before an inode, so that the tail, which would begin at `position`, crosses no block.
const fn before_tail(position: u64, tail: u64) -> u64 {
    let rest = BLOCK_SIZE - position % BLOCK_SIZE;
    if rest < tail { rest.next_multiple_of(Nid::SLOT) } else { 0 }
}

/// The blocks of an inode's content, and the bytes that follow the inode: the rest, if it is at most half a block.
fn split(tree: &Tree, index: InodeIndex) -> Result<(u64, u64), BuildError> {
    let node = tree.get(index);
    let size = match &node.kind {
        Kind::Directory(directory) => {
            directory_size(entries_with_dots(directory, false).map(|(name, _)| name), BLOCK)
        }
        Kind::Symlink(target) => return Ok((0, target.len() as u64)),
        Kind::Regular { size } if is_elsewhere(tree, node) => {
            let count = chunks(*size).count(*size, BLOCK);
            if count > MOST_CHUNKS {
                let (path, problem) = (tree.path(index), "more chunks than composefs allows");
                return Err(BuildError::FileTooLarge { path, problem });
            }
            return Ok((0, count * CHUNK_ENTRY));
        }
        Kind::Regular { size } => *size,
        _ => 0,
    };
    let (blocks, tail) = (size / BLOCK_SIZE, size % BLOCK_SIZE);
    Ok(if tail > BLOCK_SIZE / 2 { (blocks + 1, 0) } else { (blocks, tail) })
}

/// Chunks of a file that is a hole: as few as can be.
fn chunks(size: u64) -> ChunkFormat {
    let bits = (size.saturating_sub(1).checked_ilog2()).map_or(0, |bits| bits + 1);
    let bits = bits.saturating_sub(BLOCK.bits().into()).min(ChunkFormat::MAX_BITS.into());
    let format = u8::try_from(bits).ok().and_then(|bits| ChunkFormat::new(bits, false, false));
    format.expect("no more than the most bits")
}

/// An inode without its form, its number and the address of its blocks.
fn inode(tree: &Tree, index: InodeIndex, (blocks, tail): (u64, u64), xattrs: &XattrPlan) -> Inode {
    let node = tree.get(index);
    let size = match &node.kind {
        Kind::Directory(_) => blocks * BLOCK_SIZE + tail,
        Kind::Regular { size } => *size,
        Kind::Symlink(target) => target.len() as u64,
        _ => 0,
    };
    let mut inode = inode_of(node, size, xattrs.body_size(index, node.metadata.xattrs));
    if is_elsewhere(tree, node) {
        inode.layout = Layout::ChunkBased;
        inode.data = InodeData::Chunked(chunks(size));
    } else if tail > 0 {
        inode.layout = Layout::FlatInline;
    }
    if inode.data == (InodeData::Blocks { start: None }) {
        inode.data = InodeData::Blocks { start: Some(Blkaddr(0)) };
    }
    inode
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_as_few_as_can_be() {
        for (size, bits, count) in [
            (1, 0, 1),
            (4096, 0, 1),
            (4097, 1, 1),
            (8192, 1, 1),
            (8193, 2, 1),
            (1 << 43, 31, 1),
            ((1 << 43) + 1, 31, 2),
            (u64::MAX, 31, 1 << 21),
        ] {
            let format = chunks(size);
            assert_eq!((format.bits(), format.count(size, BLOCK)), (bits, count), "{size}");
        }
    }

    #[test]
    fn tails_and_symlinks_cross_no_block() {
        for (position, tail, expected) in [(0, 64, 0), (4032, 64, 0), (4036, 64, 64), (4092, 5, 32)]
        {
            assert_eq!(before_tail(position, tail), expected, "{position} {tail}");
        }
        for (position, size, expected) in [(0, 4096, 0), (32, 4064, 0), (32, 4065, 4064)] {
            assert_eq!(before_symlink(position, size), expected, "{position} {size}");
        }
    }
}
