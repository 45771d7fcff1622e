//! How far does an inode reach, with its xattrs, its map and what is inline?

use std::ops::Range;

use lith_format::{
    addr::Nid,
    file_type::FileType,
    inode::{InodeData, InodeForm, Layout},
    zmap::{Advise, HeaderContext, IndexLayout, IndexTable, MapHeader, RecordTable},
};
use lith_reader::{Image, Inode};

use crate::raw::Raw;

/// Bit 4 of the format of an inode.
const FORMAT_BIT_4: u8 = 1 << 4;

/// Bits of the map header's last byte that have no meaning.
const HEADER_RESERVED: u8 = 0x70;

/// What an inode's bytes say that an open image doesn't tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Footprint {
    /// Its bytes in its metadata space, up to where another inode may begin.
    pub(crate) range: Range<u64>,
    /// It has what only images with 48-bit addresses have: a table of extent records, or bit 4 of its format.
    pub(crate) wide: bool,
    /// Its plain extents are rotated.
    pub(crate) interlaced: bool,
    /// Its map is a table of indexes, and has so many.
    pub(crate) indexes: Option<(IndexTable, u64)>,
    /// Reserved bits of its map header are set.
    pub(crate) reserved: bool,
}

impl Footprint {
    /// The footprint of an inode as far as it can be told.
    pub(crate) fn of(image: &Image, raw: &mut Raw<'_>, inode: &Inode) -> Self {
        let at = inode.position;
        let mut footprint = Self {
            range: at..at,
            wide: has_flag(raw, inode),
            interlaced: false,
            indexes: None,
            reserved: false,
        };
        let whole = footprint.find_end(image, raw, inode);
        let ends = [whole, at.checked_add(inode.body_end() as u64)];
        // What ends beyond everything is found by those who read it.
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
                // What crosses a block is found by those who read it, and is no one's.
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
        let feature_incompat = sb.incompat.bits();
        let context = HeaderContext { layout, block_bits: sb.block, feature_incompat };
        match MapHeader::parse(bytes, context).ok()? {
            MapHeader::WholeFragment { .. } => area.checked_add(bytes.len() as u64),
            MapHeader::Indexes(header) => {
                let [.., last] = bytes;
                self.reserved = last & HEADER_RESERVED != 0;
                self.interlaced = header.advise.contains(Advise::INTERLACED);
                let table = IndexTable::new(&header, sb.block, inode.size, area).ok()?;
                self.indexes = Some((table, header.lclusters(inode.size)));
                let inline = table.inline_at().ok()?.checked_add(header.idata_size.into())?;
                Some(inline.max(table.start().checked_add(table.size())?))
            }
            MapHeader::Records(header) => {
                self.wide = true;
                let table = RecordTable::new(header, sb.block, inode.size, area)?;
                table.start().checked_add(table.size())
            }
        }
    }
}

/// Whether bit 4 of its format says that it has one link and room for a wide address.
fn has_flag(raw: &mut Raw<'_>, inode: &Inode) -> bool {
    let directory = inode.file_type == FileType::Directory;
    let format = raw.array::<1>(inode.space, inode.position).map_or(0, |[byte]| byte);
    format & FORMAT_BIT_4 != 0 && inode.form == InodeForm::Compact && !directory
}
