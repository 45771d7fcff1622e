//! Where does each inode lie, and each directory?
//!
//! Behind the data come the blocks of directories and long symlinks, then the shared extended attributes,
//! then all inodes with their inline tails and tables. So listing a tree reads one stretch of the image.

mod blocks;
mod record;

use std::cmp::Reverse;

use lith_format::addr::{Blkaddr, BlockBits, Nid};
use lith_tree::InodeIndex;

pub(crate) use blocks::OPEN_BLOCKS;
pub(crate) use record::{
    Leads, Record, Records, check_forms, context, dirent_type, entries_with_dots, inline_tail,
    map_header, packed_directories,
};

use self::blocks::OpenBlocks;
use crate::BuildError;

/// The places of everything but file content.
#[derive(Debug)]
pub(crate) struct Placement {
    block: BlockBits,
    /// The first block of directories and symlinks that are not wholly inline.
    pub(crate) content_start: u64,
    /// The block behind those.
    pub(crate) content_end: u64,
    /// Byte position of everything behind that.
    pub(crate) metadata_start: u64,
    /// Byte position of the shared extended attributes.
    pub(crate) shared_start: u64,
    /// Byte position of each inode, by its number in the tree less that of the first.
    positions: Vec<u64>,
    first: usize,
    /// Whether these positions are in the content of the metabox.
    pub(crate) in_metabox: bool,
    /// The block that NIDs count from.
    pub(crate) meta_blkaddr: Blkaddr,
    /// Where everything ends, in whole blocks; or the content of the metabox.
    pub(crate) end: u64,
    /// Bytes of the image, if that is what is placed.
    pub(crate) image_end: u64,
}

impl Placement {
    /// Places everything, with the superblock and what belongs to it ending at byte `head_end` and the files'
    /// data at `data_end`, which is the same if there is none. Both must be multiples of 32.
    pub(crate) fn new(
        records: &Records<'_>,
        head_end: u64,
        data_end: u64,
    ) -> Result<Self, BuildError> {
        let block = records.block();
        let size = u64::from(block.size());
        let (content_start, content_end) = content_behind(block.blocks_for(data_end), records);
        let root_end = end_of_root_behind(head_end, records);
        let metadata_start = if content_end == content_start {
            data_end.max(root_end.unwrap_or(0))
        } else {
            content_end * size
        };
        let (shared_start, start) = match records.early_shared_area() {
            Some(start) => (start, metadata_start),
            None => (metadata_start, metadata_start + records.shared_area().len() as u64),
        };
        let start = start.next_multiple_of(Nid::SLOT);
        let mut positions = match root_end {
            Some(root_end) => {
                // Nothing is free behind the root if shared attributes follow it in its block.
                let is_shared = root_end / size == metadata_start / size;
                let spare = if is_shared { start } else { root_end };
                Positions::new_behind_root(records, head_end, spare, start)
            }
            None => Positions::new(records, start),
        };
        positions.place_all(records);
        let end = positions.open.end().next_multiple_of(size);
        let image_end = records.image_end(end)?;
        let meta_blkaddr = positions.meta_blkaddr;
        let positions = positions.by_inode;
        Ok(Self {
            block,
            content_start,
            content_end,
            metadata_start,
            shared_start,
            positions,
            first: 0,
            in_metabox: false,
            meta_blkaddr,
            end,
            image_end,
        })
    }

    /// Places inodes in the metabox, and directories and symlinks in blocks from `next` on.
    pub(crate) fn in_metabox(records: &Records<'_>, next: u64) -> Self {
        let (content_start, content_end) = content_behind(next, records);
        let mut positions = Positions::new(records, 0);
        positions.place_all(records);
        Self {
            block: records.block(),
            content_start,
            content_end,
            metadata_start: 0,
            shared_start: records.early_shared_area().unwrap_or(0),
            first: 0,
            in_metabox: true,
            meta_blkaddr: Blkaddr(0),
            end: positions.open.end(),
            image_end: 0,
            positions: positions.by_inode,
        }
    }

    /// Places the inodes that lie outside of the metabox: behind the superblock, or behind all data.
    pub(crate) fn outside(
        records: &Records<'_>,
        head_end: u64,
        data_end: u64,
    ) -> Result<Self, BuildError> {
        let block = records.block();
        let mut open = OpenBlocks::new(data_end, head_end, block);
        let (mut positions, mut first) = (Vec::new(), None);
        for record in records.outside() {
            let first = *first.get_or_insert(record.index.index());
            positions.resize(record.index.index() - first, 0);
            positions.push(open.place(record.head(), record.tail()));
        }
        let content = block.blocks_for(data_end);
        let end = open.end().next_multiple_of(block.size().into());
        Ok(Self {
            block,
            content_start: content,
            content_end: content,
            metadata_start: data_end,
            shared_start: records.early_shared_area().unwrap_or(0),
            positions,
            first: first.unwrap_or(0),
            in_metabox: false,
            meta_blkaddr: Blkaddr(0),
            end,
            image_end: records.image_end(end)?,
        })
    }

    /// Byte position of an inode.
    pub(crate) fn position(&self, inode: InodeIndex) -> u64 {
        let at = inode.index().checked_sub(self.first);
        at.and_then(|at| self.positions.get(at)).copied().unwrap_or(0)
    }

    /// NID of an inode.
    pub(crate) fn nid(&self, inode: InodeIndex) -> Nid {
        let base = self.meta_blkaddr.0 * u64::from(self.block.size());
        let nid = (self.position(inode) - base) / Nid::SLOT;
        Nid(if self.in_metabox { nid | Nid::METABOX } else { nid })
    }

    /// The block that shared attribute ids count from.
    pub(crate) fn xattr_blkaddr(&self) -> Blkaddr {
        Blkaddr(self.shared_start / u64::from(self.block.size()))
    }
}

/// The first block of directories and symlinks, which lie from `next` on, and the one behind them.
fn content_behind(next: u64, records: &Records<'_>) -> (u64, u64) {
    let blocks = records.iter().map(|r| records.block().blocks_for(r.content_in_blocks())).sum();
    let start = past_no_address(next, blocks);
    (start, start + blocks)
}

/// The block from which `blocks` blocks lie without the one whose address is taken for none.
pub(crate) const fn past_no_address(start: u64, blocks: u64) -> u64 {
    const NO_ADDRESS: u64 = u32::MAX as u64;
    if start <= NO_ADDRESS && NO_ADDRESS < start + blocks { NO_ADDRESS + 1 } else { start }
}

/// The block to count NIDs from when the root is at byte `root`: its own, or the one before if it would be
/// number 0, which in other places means none.
fn meta_block(root: u64, block: u64) -> Blkaddr {
    // Which has only 32 bits, but behind it all NIDs have room.
    let root_block = (root / block).min(u32::MAX.into());
    Blkaddr(if root == root_block * block { root_block.saturating_sub(1) } else { root_block })
}

/// Where the root ends if it finds room in the rest of the superblock's last block, which ends at `head_end`.
fn end_of_root_behind(head_end: u64, records: &Records<'_>) -> Option<u64> {
    let block = records.block();
    let (head, tail) = size_of_root(records);
    let fits = u64::from(block.within(head_end)) + head + tail <= block.size().into();
    fits.then(|| (head_end + head + tail).next_multiple_of(Nid::SLOT))
}

fn size_of_root(records: &Records<'_>) -> (u64, u64) {
    records.iter().next().map_or((0, 0), |root| (root.head(), root.tail()))
}

/// Finds places for inodes. The root's NID has only 16 bits, so NIDs must count from nearby.
struct Positions {
    open: OpenBlocks,
    /// By the inode's number in the tree, the root's first.
    by_inode: Vec<u64>,
    meta_blkaddr: Blkaddr,
}

impl Positions {
    /// With the root first of all inodes, from `start`.
    fn new(records: &Records<'_>, start: u64) -> Self {
        let block = records.block();
        let (head, tail) = size_of_root(records);
        let mut open = OpenBlocks::new(start, start, block);
        let root = open.place(head, tail);
        let meta_blkaddr = meta_block(root, block.size().into());
        Self::with_root(root, records, open, meta_blkaddr)
    }

    /// With the root at `root`, and all others from `start`, or where its block is free from `spare` on.
    fn new_behind_root(records: &Records<'_>, root: u64, spare: u64, start: u64) -> Self {
        let open = OpenBlocks::new(start, spare, records.block());
        Self::with_root(root, records, open, Blkaddr(0))
    }

    fn with_root(
        root: u64,
        records: &Records<'_>,
        open: OpenBlocks,
        meta_blkaddr: Blkaddr,
    ) -> Self {
        let mut by_inode = vec![0; records.inodes()];
        if let Some(slot) = by_inode.get_mut(InodeIndex::ROOT.index()) {
            *slot = root;
        }
        Self { open, by_inode, meta_blkaddr }
    }

    /// Places all but the root.
    fn place_all(&mut self, records: &Records<'_>) {
        let mut group = Group::default();
        for record in records.iter().skip(1) {
            group.add(&record);
            if group.bytes >= GROUP_BLOCKS as u64 * u64::from(records.block().size()) {
                group.place(self);
            }
        }
        group.place(self);
    }

    fn place(&mut self, size: &Size) {
        let position = self.open.place(size.head, size.tail);
        if let Some(slot) = self.by_inode.get_mut(size.index.index()) {
            *slot = position;
        }
    }
}

/// About how many blocks of inodes are placed together.
pub(crate) const GROUP_BLOCKS: usize = 64;

/// What an inode needs.
struct Size {
    index: InodeIndex,
    head: u64,
    tail: u64,
}

/// Inodes that are placed together, the largest first, so that small ones fill the gaps that large ones leave.
#[derive(Default)]
struct Group {
    sizes: Vec<Size>,
    bytes: u64,
}

impl Group {
    fn add(&mut self, record: &Record) {
        let (head, tail) = (record.head(), record.tail());
        self.bytes += head + tail;
        self.sizes.push(Size { index: record.index, head, tail });
    }

    /// Places all and is empty again.
    fn place(&mut self, positions: &mut Positions) {
        self.sizes.sort_by_key(|size| Reverse(size.head + size.tail));
        for size in self.sizes.drain(..) {
            positions.place(&size);
        }
        self.bytes = 0;
    }
}
