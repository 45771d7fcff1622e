//! Defines [`Footprint`]: the metadata that belongs to an inode, including xattrs, map and inline data.

use std::ops::Range;

use lith_format::{
    addr::Nid,
    features::Incompat,
    file_type::FileType,
    inode::{InodeData, InodeForm, Layout},
    zmap::{Advise, HeaderContext, IndexLayout, IndexTable, MapHeader, RecordTable},
};
use lith_reader::{Image, Inode};

use crate::raw::Raw;

/// Bit 4 of `i_format`.
const FORMAT_BIT_4: u8 = 1 << 4;

/// Pclusters of several blocks.
const BIG: Advise = Advise::BIG_PCLUSTER_1.union(Advise::BIG_PCLUSTER_2);

/// The reserved bits of the map header's last byte.
const HEADER_RESERVED: u8 = 0x70;

/// Facts about an inode that [`Inode`] lacks, read from its raw bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Footprint {
    /// Its bytes in its metadata space, rounded up to where another inode may start.
    pub(crate) range: Range<u64>,
    /// What the superblock must declare for it: the 48-bit layout, if it has a table of extent records, or bit 4 of
    /// `i_format`; pclusters of several blocks, if its map header announces them. Readers refuse that without the
    /// feature, also where each has one block.
    pub(crate) needs: Incompat,
    /// Its PLAIN extents are interlaced.
    pub(crate) interlaced: bool,
    /// Its index table and the number of its lclusters.
    pub(crate) indexes: Option<(IndexTable, u64)>,
    /// Reserved bits of its map header are set.
    pub(crate) reserved: bool,
}

impl Footprint {
    /// The footprint of an inode, as far as its bytes can be read.
    pub(crate) fn of(image: &Image, raw: &mut Raw<'_>, inode: &Inode) -> Self {
        let at = inode.position;
        let mut footprint = Self {
            range: at..at,
            needs: Incompat::empty(),
            interlaced: false,
            indexes: None,
            reserved: false,
        };
        footprint.needs.set(Incompat::BITS_48, has_flag(raw, inode));
        let whole = footprint.find_end(image, raw, inode);
        let ends = [whole, at.checked_add(inode.body_end() as u64)];
        // A footprint beyond the end of the space is reported when the map or the xattrs are read.
        let size = raw.size(inode.space);
        let end = ends.into_iter().flatten().find(|end| *end <= size);
        let end = end.unwrap_or(at.saturating_add(inode.size_on_disk() as u64));
        footprint.range.end = end.checked_next_multiple_of(Nid::SLOT).unwrap_or(end);
        footprint
    }

    fn find_end(&mut self, image: &Image, raw: &mut Raw<'_>, inode: &Inode) -> Option<u64> {
        let area = inode.position.checked_add(inode.layout_area() as u64)?;
        let block = image.superblock().block;
        match inode.data {
            InodeData::Blocks { .. } if inode.layout == Layout::FlatInline => {
                let before = block.blocks_for(inode.size).saturating_sub(1);
                let tail = inode.size - before * u64::from(block.size());
                // A tail that crosses a block is reported when it is read, and claims no bytes.
                let fits = u64::from(block.within(area)) + tail <= u64::from(block.size());
                area.checked_add(tail).filter(|_| fits)
            }
            InodeData::Chunked(format) => {
                let count = format.count(inode.size, block);
                area.checked_add(count.checked_mul(format.unit() as u64)?)
            }
            InodeData::Compressed { .. } if inode.size != 0 => {
                self.find_map_end(image, raw, inode, area)
            }
            _ => None,
        }
    }

    fn find_map_end(
        &mut self,
        image: &Image,
        raw: &mut Raw<'_>,
        inode: &Inode,
        area: u64,
    ) -> Option<u64> {
        let (sb, compact) = (image.superblock(), inode.layout == Layout::CompressedCompact);
        let bytes = raw.array::<{ MapHeader::SIZE }>(inode.space, area)?;
        let layout = if compact { IndexLayout::Compact } else { IndexLayout::Full };
        let context = HeaderContext { layout, block_bits: sb.block, features: sb.incompat };
        match MapHeader::parse(bytes, context).ok()? {
            MapHeader::WholeFragment { .. } => area.checked_add(bytes.len() as u64),
            MapHeader::Indexes(header) => {
                let [.., last] = bytes;
                self.reserved = last & HEADER_RESERVED != 0;
                self.interlaced = header.advise.contains(Advise::INTERLACED);
                self.needs.set(Incompat::BIG_PCLUSTER, header.advise.intersects(BIG));
                let table = IndexTable::new(&header, sb.block, inode.size, area).ok()?;
                self.indexes = Some((table, header.lclusters(inode.size)));
                let inline = table.inline_at().ok()?.checked_add(header.idata_size.into())?;
                Some(inline.max(table.start().checked_add(table.size())?))
            }
            MapHeader::Records(header) => {
                self.needs |= Incompat::BITS_48;
                let table = RecordTable::new(header, sb.block, inode.size, area)?;
                table.start().checked_add(table.size())
            }
        }
    }
}

/// Whether bit 4 of `i_format` gives a compact inode one link and a 48-bit address.
fn has_flag(raw: &mut Raw<'_>, inode: &Inode) -> bool {
    let directory = inode.file_type == FileType::Directory;
    let format = raw.array::<1>(inode.space, inode.position).map_or(0, |[byte]| byte);
    format & FORMAT_BIT_4 != 0 && inode.form == InodeForm::Compact && !directory
}
