//! Defines what an encoder of indexes takes: extents and the parameters of the inode.

use super::super::{
    header::{Advise, IndexHeader, IndexLayout},
    index::HeadKind,
    locate::two_byte,
};
use crate::{
    addr::{Blkaddr, BlockBits},
    halves::lo32,
};

/// An extent of a file. Extents follow each other without gap from byte 0 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodedExtent {
    /// Bytes of the file.
    pub llen: u32,
    /// Blocks of its pcluster, 1..=2047. Ignored for an inline or fragment tail.
    pub blocks: u16,
    /// How it is stored.
    pub kind: HeadKind,
    /// It decodes only the beginning of its pcluster. Compact indexes can't express it.
    pub partial: bool,
}

/// Where a file's last extent is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tail {
    /// In blocks, like all others.
    #[default]
    Blocks,
    /// After the table (ztailpacking).
    Inline {
        /// Bytes of the inline pcluster.
        size: u16,
    },
    /// In the packed inode.
    Fragment {
        /// Where it begins there.
        offset: u64,
    },
}

/// What holds for all indexes of an inode; made by [`EncodeParams::new`]. Lclusters have the size of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EncodeParams {
    /// The filesystem's block size.
    pub block_bits: BlockBits,
    /// The file's bytes; the sum of the extents.
    pub size: u64,
    /// The first block of the first pcluster; the others follow it.
    pub start: Blkaddr,
    /// The superblock has incompat bit 0x2: pcluster sizes are stated.
    pub big_pcluster: bool,
    /// PLAIN extents in blocks are rotated.
    pub interlaced: bool,
    /// Algorithm number of HEAD1 extents.
    pub head1: u8,
    /// Algorithm number of HEAD2 extents.
    pub head2: u8,
    /// Where the last extent is.
    pub tail: Tail,
}

impl EncodeParams {
    /// Parameters for one algorithm with all extents in blocks.
    #[must_use]
    pub const fn new(block_bits: BlockBits, size: u64, start: Blkaddr, algorithm: u8) -> Self {
        Self {
            block_bits,
            size,
            start,
            big_pcluster: false,
            interlaced: false,
            head1: algorithm,
            head2: 0,
            tail: Tail::Blocks,
        }
    }

    /// The map header of an index table in this layout.
    pub(super) fn header(&self, layout: IndexLayout, extents: &[EncodedExtent]) -> IndexHeader {
        let mut advise = match layout {
            IndexLayout::Compact if two_byte(self.block_bits) => Advise::COMPACTED_2B,
            _ => Advise::empty(),
        };
        // Full indexes need the second flag only for HEAD2, which mkfs never writes.
        let head2 = || extents.iter().any(|extent| extent.kind == HeadKind::Head2);
        let second = self.big_pcluster && (layout == IndexLayout::Compact || head2());
        advise.set(Advise::BIG_PCLUSTER_1, self.big_pcluster);
        advise.set(Advise::BIG_PCLUSTER_2, second);
        advise.set(Advise::INTERLACED, self.interlaced);
        let (tail, fragment_off, idata_size) = match self.tail {
            Tail::Blocks => (Advise::empty(), 0, 0),
            Tail::Inline { size } => (Advise::INLINE, 0, size),
            Tail::Fragment { offset } => (Advise::FRAGMENT, offset, 0),
        };
        IndexHeader {
            layout,
            advise: advise | tail,
            fragment_off_lo: lo32(fragment_off),
            idata_size,
            head1: self.head1,
            head2: self.head2,
            lcluster_bits: self.block_bits.bits(),
        }
    }
}
