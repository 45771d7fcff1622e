//! Which bytes index a file's extents, as mkfs.erofs would write them?

mod compact;
mod full;
mod records;
mod rules;

use alloc::vec::Vec;

use self::compact::CompactWriter;
use self::full::FullWriter;
pub use self::records::encode_records;
pub use self::rules::{EncodeError, NeedsFull};
use super::header::{Advise, IndexHeader, IndexLayout, MapHeader};
use super::index::{HeadKind, MAX_DELTA};
use super::locate::{CompactLayout, two_byte};
use crate::addr::{Blkaddr, BlockBits};

/// An extent of a file as the builder cut it. Extents follow each other without gap from byte 0 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodedExtent {
    /// Bytes of the file.
    pub llen: u32,
    /// Blocks of its pcluster, 1..=2047. Not looked at for an inline or fragment tail.
    pub blocks: u16,
    /// How it is stored.
    pub kind: HeadKind,
    /// It decodes only the beginning of its pcluster. Compact indexes can't say so.
    pub partial: bool,
}

/// Where a file's last extent lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tail {
    /// In blocks, as all others.
    #[default]
    Blocks,
    /// Behind the table (ztailpacking).
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

/// What holds for all indexes of an inode. Lclusters have the size of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    /// Where the last extent lies.
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

    fn header(&self, layout: IndexLayout, extents: &[EncodedExtent]) -> IndexHeader {
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
            fragment_off_lo: u32::try_from(fragment_off & 0xffff_ffff).unwrap_or(0),
            idata_size,
            head1: self.head1,
            head2: self.head2,
            lcluster_bits: self.block_bits.bits(),
        }
    }
}

/// The map of a file that is one fragment: header and 8 reserved bytes. Offsets are below 2^63.
#[must_use]
pub fn encode_whole_fragment(offset: u64) -> [u8; 16] {
    let mut out = [0; 16];
    let header = MapHeader::WholeFragment { offset }.encode(BlockBits::DEFAULT);
    out.first_chunk_mut::<{ MapHeader::SIZE }>().into_iter().for_each(|head| *head = header);
    out
}

/// Map header, reserved bytes and full indexes of `extents`. Inline data follows them directly.
///
/// Without `addresses` the pclusters lie one after another from `params.start` on; with them, pcluster `k`
/// begins at `addresses[k]`.
///
/// # Errors
///
/// [`EncodeError`] if the extents break a rule of the format.
pub fn encode_full(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    addresses: Option<&[Blkaddr]>,
) -> Result<Vec<u8>, EncodeError> {
    rules::check(extents, params)?;
    rules::check_addresses(extents, params)?;
    let size = params.block_bits.blocks_for(params.size).saturating_mul(8).saturating_add(16);
    let mut out = reserve(size)?;
    let header = params.header(IndexLayout::Full, extents);
    out.extend_from_slice(&MapHeader::Indexes(header).encode(params.block_bits));
    out.extend_from_slice(&[0; 8]);
    let mut writer = FullWriter::new(out, extents, params, addresses)?;
    walk(extents, params, header.advise, &mut writer);
    Ok(writer.finish())
}

/// Map header and compact packs of `extents`, whose pclusters lie one after another from `params.start`
/// on, for a table that begins `e_mod_32` (0, 8, 16 or 24) bytes beyond a multiple of 32. Inline data
/// follows the packs directly.
///
/// # Errors
///
/// [`EncodeError`] if the extents break a rule of the format or need full indexes.
pub fn encode_compact(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    e_mod_32: u8,
) -> Result<Vec<u8>, EncodeError> {
    rules::check(extents, params)?;
    rules::check_addresses(extents, params)?;
    rules::check_compact(extents, params, e_mod_32)?;
    let total = params.block_bits.blocks_for(params.size);
    let layout = CompactLayout::new(e_mod_32, total, two_byte(params.block_bits));
    let mut out = reserve(layout.size().saturating_add(8))?;
    let header = params.header(IndexLayout::Compact, extents);
    out.extend_from_slice(&MapHeader::Indexes(header).encode(params.block_bits));
    let mut writer = CompactWriter::new(out, layout, params);
    walk(extents, params, header.advise, &mut writer);
    Ok(writer.finish())
}

fn reserve(size: u64) -> Result<Vec<u8>, EncodeError> {
    let len = usize::try_from(size).ok().filter(|&len| isize::try_from(len).is_ok());
    len.map(Vec::with_capacity).ok_or(EncodeError::TableTooLarge { size })
}

/// A HEAD on its way to the table, the end marker included.
struct HeadStep {
    /// The number of the extent; nothing for the end marker.
    extent: Option<usize>,
    kind: HeadKind,
    clusterofs: u16,
    /// Blocks of the extent's pcluster.
    blocks: u16,
    partial: bool,
}

/// A NONHEAD on its way to the table.
struct NonHeadStep {
    /// The extent's own clusterofs, which full indexes repeat.
    clusterofs: u16,
    delta0: u64,
    delta1: u64,
    cblkcnt: Option<u16>,
}

/// What takes the indexes in the order of their lclusters.
trait IndexWriter {
    fn head(&mut self, step: &HeadStep);
    fn nonhead(&mut self, step: &NonHeadStep);
}

/// Hands each lcluster's index to `writer`. The extents are valid.
fn walk(
    extents: &[EncodedExtent],
    params: &EncodeParams,
    advise: Advise,
    writer: &mut impl IndexWriter,
) {
    let bits = params.block_bits.bits();
    let within = |at| u16::try_from(params.block_bits.within(at)).unwrap_or(0);
    let mut start = 0_u64;
    for (k, extent) in extents.iter().enumerate() {
        let blocks = match params.tail {
            Tail::Inline { .. } if k + 1 == extents.len() => 1,
            Tail::Fragment { .. } if k + 1 == extents.len() => 0,
            _ => extent.blocks,
        };
        let end = start + u64::from(extent.llen);
        let (head, next) = (start >> bits, end >> bits);
        let (kind, partial, clusterofs) = (extent.kind, extent.partial, within(start));
        writer.head(&HeadStep { extent: Some(k), kind, clusterofs, blocks, partial });
        for delta0 in 1..next.saturating_sub(head) {
            let cblkcnt = (delta0 == 1 && advise.big_pcluster(kind)).then_some(blocks);
            let delta1 = next - head - delta0;
            writer.nonhead(&NonHeadStep { clusterofs, delta0, delta1, cblkcnt });
        }
        // The last lcluster is never NONHEAD when the file fills only a part of it.
        if k + 1 == extents.len() && next > head && within(end) != 0 {
            let (kind, clusterofs) = (HeadKind::Plain, within(end));
            writer.head(&HeadStep { extent: None, kind, clusterofs, blocks: 0, partial: false });
        }
        start = end;
    }
}

/// A delta as it is stored beside CBLKCNT.
fn saturated(delta: u64) -> u16 {
    u16::try_from(delta).map_or(MAX_DELTA, |delta| delta.min(MAX_DELTA))
}
