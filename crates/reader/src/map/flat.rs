//! Maps an uncompressed file in contiguous blocks, with or without an inline tail.

use lith_format::{addr::Blkaddr, inode::Layout};

use crate::{
    error::{Corruption, Fault},
    extent::{Extent, ExtentKind, Place},
    inode::Inode,
    metadata::Metadata,
};

/// Contiguous blocks, and perhaps an inline tail.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flat {
    /// The first block. `None`: the bytes in blocks are a hole.
    start: Option<Blkaddr>,
    /// Bytes in blocks.
    in_blocks: u64,
    /// Where the tail starts in the inode's metadata space.
    tail: u64,
}

impl Flat {
    pub(super) fn new(
        metadata: &dyn Metadata,
        inode: &Inode,
        start: Option<Blkaddr>,
    ) -> Result<Self, Fault> {
        let block = metadata.superblock().block;
        let whole = Self { start, in_blocks: inode.size, tail: 0 };
        if inode.layout != Layout::FlatInline || inode.size == 0 {
            return Ok(whole);
        }
        let in_blocks = (block.blocks_for(inode.size) - 1) * u64::from(block.size());
        let tail = inode.layout_position()?;
        check_inline(metadata, tail, inode.size - in_blocks)?;
        Ok(Self { start, in_blocks, tail })
    }

    pub(super) const fn has_no_holes(&self) -> bool {
        self.start.is_some() || self.in_blocks == 0
    }

    /// The bytes from `la` on to the end of the blocks, the hole or the tail.
    pub(super) fn at(
        &self,
        metadata: &dyn Metadata,
        inode: &Inode,
        la: u64,
    ) -> Result<Extent, Fault> {
        if let Some(into_tail) = la.checked_sub(self.in_blocks) {
            let (len, space) = (inode.size - la, inode.space);
            let position = self.tail.saturating_add(into_tail);
            let place = Place::Metadata { space, position };
            return Ok(Extent { la, len, kind: ExtentKind::Inline, place, plen: len });
        }
        let len = self.in_blocks - la;
        let Some(start) = self.start else { return Ok(Extent::hole(la, len)) };
        let block = metadata.superblock().block;
        let place = Place::Device(metadata.devices().place(block, 0, start, la)?);
        Ok(Extent { la, len, kind: ExtentKind::Flat, place, plen: len })
    }
}

/// Refuses inline data that crosses a block boundary, as Linux does.
pub(super) fn check_inline(
    metadata: &dyn Metadata,
    position: u64,
    length: u64,
) -> Result<(), Fault> {
    let block = metadata.superblock().block;
    if u64::from(block.within(position)).saturating_add(length) > u64::from(block.size()) {
        return Err(Corruption::InlineCrossesBlock { position, length }.into());
    }
    Ok(())
}
