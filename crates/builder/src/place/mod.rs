//! Where is each inode stored, and each directory? Makes the [`Placement`].
//!
//! The content is followed by the blocks of directories and long symlinks, then the shared extended attributes, then all
//! inodes with their inline tails and tables. So listing a tree reads one range of the image. Where the metadata comes first, the
//! content, which was stored when its size was unknown, moves towards the end.

mod blocks;
mod inodes;

use std::{cmp::Reverse, ops::Range};

use lith_format::addr::{Blkaddr, BlockBits, Nid};
use lith_tree::InodeIndex;

use self::blocks::OpenBlocks;
pub(crate) use self::{
    blocks::OPEN_BLOCKS,
    inodes::{SizedInode, SizedInodes},
};
use crate::{BuildError, limits::past_no_address};

/// The places of everything except the content of files.
#[derive(Debug)]
pub(crate) struct Placement {
    block: BlockBits,
    /// The first block of directories and symlinks that are not wholly inline.
    pub(crate) content_start: u64,
    /// The block after those.
    pub(crate) content_end: u64,
    /// Byte position of everything after that.
    pub(crate) metadata_start: u64,
    /// The byte up to which metadata is written, in whole blocks unless it is in the metabox.
    pub(crate) metadata_end: u64,
    /// Byte position of the shared extended attributes, if they are placed with these inodes.
    pub(crate) shared_start: Option<u64>,
    /// Byte position of each inode, by its index minus `first_index`.
    positions: Vec<u64>,
    first_index: usize,
    /// Whether these positions are in the content of the metabox.
    pub(crate) in_metabox: bool,
    /// How many blocks the content of files moves towards the end, to follow the metadata.
    pub(crate) moved: u64,
    /// The block that NIDs count from.
    pub(crate) meta_blkaddr: Blkaddr,
    /// Where everything ends, in whole blocks; or the content of the metabox.
    pub(crate) end: u64,
    /// Bytes of the image, if that is what is placed.
    pub(crate) image_end: u64,
    /// The bytes of the directories and of the inodes that come first because they are used first.
    pub(crate) first: Vec<Range<u64>>,
}

/// What the image holds before anything is placed: the superblock with its companions, and the content of files.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// The byte after the superblock and its companions.
    pub(crate) head: u64,
    /// The byte after the content; the same if there is none before the metadata.
    pub(crate) content: u64,
    /// The blocks of the content that is to follow the metadata.
    follows: Option<Range<u64>>,
    /// The fewest blocks that it moves.
    least: u64,
}

impl Ends {
    /// Ends of a head of so many bytes, and of content up to block `next` if there is some.
    pub(crate) fn new(head: u64, next: Option<u64>, block: BlockBits) -> Self {
        let head = head.next_multiple_of(Nid::SLOT);
        let content = next.map_or(head, |next| next * u64::from(block.size()));
        Self { head, content, follows: None, least: 0 }
    }

    /// The same with the content in these blocks after the metadata.
    pub(crate) fn metadata_first(self, content: Option<Range<u64>>) -> Self {
        Self { content: self.head, follows: content, ..self }
    }

    /// The same after blocks of metadata up to a byte, if there are some, with the content moved by at least so many blocks.
    pub(crate) fn after(self, metadata: Option<u64>, least: u64) -> Self {
        Self { content: metadata.unwrap_or(self.head), least, ..self }
    }

    /// How many blocks the content has to move if the metadata before it ends with block `end`.
    fn moved(&self, end: u64, inodes: SizedInodes<'_>) -> Result<u64, BuildError> {
        let Some(Range { start, end: content_end }) = self.follows else { return Ok(0) };
        let plan = inodes.geometry.plan;
        let alignment = plan.options.layout.alignment.into();
        let moved = end.saturating_sub(start).next_multiple_of(alignment).max(self.least);
        // Where the plan expects no far addresses, tables have no room for them.
        let limit = 1 << 32;
        if !plan.is_far && content_end + moved > limit {
            return Err(BuildError::TooLarge { limit });
        }
        Ok(moved)
    }

    /// How many blocks the content moves after metadata that ends at a byte, the byte up to which metadata is then
    /// written, and where everything ends.
    fn with_content(
        &self,
        metadata_end: u64,
        inodes: SizedInodes<'_>,
    ) -> Result<(u64, u64, u64), BuildError> {
        let size = u64::from(inodes.block().size());
        let moved = self.moved(metadata_end / size, inodes)?;
        Ok(match &self.follows {
            Some(Range { start, end }) if moved > 0 => {
                (moved, (start + moved) * size, (end + moved) * size)
            }
            Some(blocks) => (moved, metadata_end, blocks.end * size),
            None => (moved, metadata_end, metadata_end),
        })
    }
}

/// Places everything: all inodes with names and those of `extra`.
///
/// # Errors
/// [`BuildError::TooLarge`] if the image would have too many blocks.
pub(crate) fn place(
    inodes: SizedInodes<'_>,
    extra: &[InodeIndex],
    ends: &Ends,
) -> Result<Placement, BuildError> {
    let all = || inodes.with_names(extra);
    let block = inodes.block();
    let size = u64::from(block.size());
    let (content_start, content_end) = directories(block.blocks_for(ends.content), inodes, extra);
    let root_end = end_of_root(ends.head, all().next().as_ref(), block);
    let metadata_start = if content_end == content_start {
        ends.content.max(root_end.unwrap_or(0))
    } else {
        content_end * size
    };
    let plan = inodes.geometry.plan;
    let (shared_start, start) = match plan.head.shared_xattrs {
        Some(start) => (start, metadata_start),
        None => (metadata_start, metadata_start + plan.xattrs.shared_area.len() as u64),
    };
    let start = start.next_multiple_of(Nid::SLOT);
    let mut positions = match root_end {
        Some(root_end) => {
            // Nothing is free after the root if shared attributes follow it in its block.
            let is_shared = root_end / size == metadata_start / size;
            let spare = if is_shared { start } else { root_end };
            Positions::new_after_head(inodes, ends.head, spare, start)
        }
        None => Positions::new(inodes, start),
    };
    positions.place_all(all(), (plan.first, block));
    let metadata_end = positions.open.end().next_multiple_of(size);
    let (moved, metadata_end, end) = ends.with_content(metadata_end, inodes)?;
    let first = first_stretches(inodes, content_start, metadata_start..positions.first_end);
    Ok(Placement {
        block,
        first,
        content_start,
        content_end,
        metadata_start,
        metadata_end,
        moved,
        shared_start: Some(shared_start),
        first_index: 0,
        in_metabox: false,
        meta_blkaddr: positions.meta_blkaddr,
        end,
        image_end: inodes.image_end(end)?,
        positions: positions.by_inode,
    })
}

/// Places shared extended attributes and inodes with names in the metabox, and their directories and symlinks in blocks
/// from `next` on. The content of files is to move so many blocks.
///
/// Shared attributes outside the metabox would be lost on Linux: from 6.17 on, `erofs_xattr_iter_shared` keeps the page of the
/// inode's own attributes if the one that it needs has the same index, though one is of the metabox and one of the device.
pub(crate) fn place_in_metabox(inodes: SizedInodes<'_>, next: u64, moved: u64) -> Placement {
    let (content_start, content_end) = directories(next, inodes, &[]);
    let plan = inodes.geometry.plan;
    let shared = plan.xattrs.shared_area.len() as u64;
    let mut positions = Positions::new(inodes, shared.next_multiple_of(Nid::SLOT));
    let first = plan.first;
    positions.place_all(inodes.with_names(&[]), (first, inodes.block()));
    Placement {
        block: inodes.block(),
        content_start,
        content_end,
        metadata_start: 0,
        metadata_end: positions.open.end(),
        moved,
        shared_start: Some(0),
        first_index: 0,
        in_metabox: true,
        meta_blkaddr: Blkaddr(0),
        end: positions.open.end(),
        image_end: 0,
        first: Vec::new(),
        positions: positions.by_inode,
    }
}

/// Places the inodes that the metabox does not hold: after the superblock, or after all content before them.
///
/// # Errors
/// [`BuildError::TooLarge`] if the image would have too many blocks.
pub(crate) fn place_apart(
    inodes: SizedInodes<'_>,
    extra: &[InodeIndex],
    ends: &Ends,
) -> Result<Placement, BuildError> {
    let block = inodes.block();
    let mut open = OpenBlocks::new(ends.content, ends.head, block);
    let first_index = extra.first().map_or(0, |first| first.index());
    let mut positions = Vec::new();
    for sized in inodes.apart(extra) {
        positions.resize(sized.index.index() - first_index, 0);
        positions.push(open.place(sized.fixed(), sized.tail()));
    }
    let content = block.blocks_for(ends.content);
    let metadata_end = open.end().next_multiple_of(block.size().into());
    let (moved, metadata_end, end) = ends.with_content(metadata_end, inodes)?;
    Ok(Placement {
        block,
        content_start: content,
        content_end: content,
        metadata_start: ends.content,
        metadata_end,
        moved,
        shared_start: None,
        positions,
        first_index,
        in_metabox: false,
        meta_blkaddr: Blkaddr(0),
        end,
        image_end: inodes.image_end(end)?,
        first: Vec::new(),
    })
}

impl Placement {
    /// Byte position of an inode.
    pub(crate) fn position(&self, inode: InodeIndex) -> u64 {
        let at = inode.index().checked_sub(self.first_index);
        *at.and_then(|at| self.positions.get(at)).expect("each inode has a place")
    }

    /// NID of an inode.
    pub(crate) fn nid(&self, inode: InodeIndex) -> Nid {
        let base = self.meta_blkaddr.0 * u64::from(self.block.size());
        let nid = (self.position(inode) - base) / Nid::SLOT;
        Nid(if self.in_metabox { nid | Nid::METABOX } else { nid })
    }

    /// The block that shared attribute ids count from: the first one of the metabox if that holds them.
    pub(crate) fn xattr_blkaddr(&self) -> Blkaddr {
        Blkaddr(self.shared_start.unwrap_or(0) / u64::from(self.block.size()))
    }
}

/// Where the directories and inodes are that come first because they are used first, if there are such.
fn first_stretches(
    inodes: SizedInodes<'_>,
    content_start: u64,
    of_inodes: Range<u64>,
) -> Vec<Range<u64>> {
    let (first, block) = (inodes.geometry.plan.first, inodes.block());
    if first < 2 {
        return Vec::new();
    }
    let sizes = inodes.with_names(&[]).take(first);
    let blocks: u64 = sizes.map(|sized| block.blocks_for(sized.content_in_blocks())).sum();
    let size = u64::from(block.size());
    vec![content_start * size..(content_start + blocks) * size, of_inodes]
}

/// The first block of directories and symlinks, which are stored from `next` on, and the one after them.
fn directories(next: u64, inodes: SizedInodes<'_>, extra: &[InodeIndex]) -> (u64, u64) {
    let block = inodes.block();
    let sizes = inodes.with_names(extra).map(|sized| block.blocks_for(sized.content_in_blocks()));
    let blocks = sizes.sum();
    let start = past_no_address(next, blocks);
    (start, start + blocks)
}

/// The block to count NIDs from when the root is at byte `root`: its own, or the one before if its NID would be 0, which
/// means none in other fields.
fn meta_block(root: u64, block: u64) -> Blkaddr {
    // It has only 32 bits; NIDs reach everything after it.
    let root_block = (root / block).min(u32::MAX.into());
    Blkaddr(if root == root_block * block { root_block.saturating_sub(1) } else { root_block })
}

/// Where the root ends if it fits the rest of the superblock's last block, which is free from `head_end` on.
fn end_of_root(head_end: u64, root: Option<&SizedInode>, block: BlockBits) -> Option<u64> {
    let (fixed, tail) = size_of(root);
    let fits = u64::from(block.within(head_end)) + fixed + tail <= block.size().into();
    fits.then(|| (head_end + fixed + tail).next_multiple_of(Nid::SLOT))
}

fn size_of(root: Option<&SizedInode>) -> (u64, u64) {
    root.map_or((0, 0), |root| (root.fixed(), root.tail()))
}

/// Assigns places to inodes. The root's NID has only 16 bits, so NIDs must count from nearby.
struct Positions {
    open: OpenBlocks,
    /// By the inode's index.
    by_inode: Vec<u64>,
    meta_blkaddr: Blkaddr,
    /// Where the inodes end that come first.
    first_end: u64,
}

impl Positions {
    /// With the root first of all inodes, from `start`.
    fn new(inodes: SizedInodes<'_>, start: u64) -> Self {
        let block = inodes.block();
        let (fixed, tail) = size_of(inodes.with_names(&[]).next().as_ref());
        let mut open = OpenBlocks::new(start, start, block);
        let root = open.place(fixed, tail);
        let meta_blkaddr = meta_block(root, block.size().into());
        Self::with_root(root, inodes, open, meta_blkaddr)
    }

    /// With the root at `root`, and all others from `start`, or where its block is free from `spare` on.
    fn new_after_head(inodes: SizedInodes<'_>, root: u64, spare: u64, start: u64) -> Self {
        let open = OpenBlocks::new(start, spare, inodes.block());
        Self::with_root(root, inodes, open, Blkaddr(0))
    }

    fn with_root(
        root: u64,
        inodes: SizedInodes<'_>,
        open: OpenBlocks,
        meta_blkaddr: Blkaddr,
    ) -> Self {
        let mut by_inode = vec![0; inodes.geometry.plan.inodes()];
        if let Some(slot) = by_inode.get_mut(InodeIndex::ROOT.index()) {
            *slot = root;
        }
        Self { open, by_inode, meta_blkaddr, first_end: 0 }
    }

    /// Places all but the root; the first ones, so many with the root, apart from the others.
    fn place_all(
        &mut self,
        inodes: impl Iterator<Item = SizedInode>,
        (first, block): (usize, BlockBits),
    ) {
        let mut group = Group::default();
        for (number, sized) in inodes.enumerate().skip(1) {
            if number == first {
                group.place(self);
                self.first_end = self.open.end();
            }
            group.add(&sized);
            if group.bytes >= GROUP_BLOCKS as u64 * u64::from(block.size()) {
                group.place(self);
            }
        }
        group.place(self);
        if self.first_end == 0 {
            self.first_end = self.open.end();
        }
    }

    fn place(&mut self, size: &Size) {
        let position = self.open.place(size.fixed, size.tail);
        if let Some(slot) = self.by_inode.get_mut(size.index.index()) {
            *slot = position;
        }
    }
}

/// About how many blocks of inodes are placed together.
pub(crate) const GROUP_BLOCKS: usize = 64;

/// The bytes of an inode.
struct Size {
    index: InodeIndex,
    fixed: u64,
    tail: u64,
}

/// Inodes that are placed together, the largest first, so that small ones fill the gaps between large ones.
#[derive(Default)]
struct Group {
    sizes: Vec<Size>,
    bytes: u64,
}

impl Group {
    fn add(&mut self, sized: &SizedInode) {
        let (fixed, tail) = (sized.fixed(), sized.tail());
        self.bytes += fixed + tail;
        self.sizes.push(Size { index: sized.index, fixed, tail });
    }

    /// Places all, which empties the group.
    fn place(&mut self, positions: &mut Positions) {
        self.sizes.sort_by_key(|size| Reverse(size.fixed + size.tail));
        for size in self.sizes.drain(..) {
            positions.place(&size);
        }
        self.bytes = 0;
    }
}
