//! Where do the bytes of an uncompressed file lie that are stored in a row?

use lith_format::addr::Blkaddr;

use super::{Extent, ExtentKind, Place, is_inline, place};
use crate::{
    error::{Corruption, Fault},
    image::Image,
    inode::Inode,
};

/// Blocks in a row, and perhaps a tail beside the inode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flat {
    /// The first block; none if the bytes in blocks are a hole.
    start: Option<Blkaddr>,
    /// Bytes in blocks.
    in_blocks: u64,
    /// Where the tail begins in the inode's metadata space.
    tail: u64,
}

impl Flat {
    pub(super) fn new(image: &Image, inode: &Inode, start: Option<Blkaddr>) -> Result<Self, Fault> {
        let block = image.superblock().block;
        let whole = Self { start, in_blocks: inode.size, tail: 0 };
        if !is_inline(inode.layout) || inode.size == 0 {
            return Ok(whole);
        }
        let in_blocks = (block.blocks_for(inode.size) - 1) * u64::from(block.size());
        let tail = inode.layout_position()?;
        check_inline(image, tail, inode.size - in_blocks)?;
        Ok(Self { start, in_blocks, tail })
    }

    pub(super) const fn has_no_holes(&self) -> bool {
        self.start.is_some() || self.in_blocks == 0
    }

    /// The rest of what is stored as byte `la` is.
    pub(super) fn at(&self, image: &Image, inode: &Inode, la: u64) -> Result<Extent, Fault> {
        if let Some(into_tail) = la.checked_sub(self.in_blocks) {
            let (len, space) = (inode.size - la, inode.space);
            let position = self.tail.saturating_add(into_tail);
            let place = Place::Metadata { space, position };
            return Ok(Extent { la, len, kind: ExtentKind::Inline, place, plen: len });
        }
        let len = self.in_blocks - la;
        let Some(start) = self.start else { return Ok(Extent::hole(la, len)) };
        let place = place(image, 0, start, la)?;
        Ok(Extent { la, len, kind: ExtentKind::Flat, place, plen: len })
    }
}

/// Refuses data beside an inode that crosses a block boundary, as Linux does.
pub(super) fn check_inline(image: &Image, position: u64, length: u64) -> Result<(), Fault> {
    let block = image.superblock().block;
    if u64::from(block.within(position)) + length > u64::from(block.size()) {
        return Err(Corruption::InlineCrossesBlock { position, length }.into());
    }
    Ok(())
}
