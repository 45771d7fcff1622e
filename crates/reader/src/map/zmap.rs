//! Maps a compressed file to its pclusters and fragments.

use std::sync::Arc;

use lith_format::{
    addr::{La, Lcn},
    compression::Algorithm,
    inode::Layout,
    zmap::{
        self, Anchors, HeaderContext, IndexLayout, IndexMap, IndexSource, IndexTable,
        LclusterIndex, Location, MapHeader, MappedExtent, RecordSource, RecordTable,
    },
};

use super::flat::check_inline;
use crate::{
    error::{Corruption, Fault},
    extent::{Extent, ExtentKind, Place},
    inode::Inode,
    metadata::{Metadata, View},
};

/// The map of a compressed file.
#[derive(Clone, Debug)]
pub(crate) enum Compressed {
    /// No extents: an empty file.
    Empty,
    /// One fragment.
    Fragment {
        /// Where it starts in the packed inode.
        offset: u64,
    },
    /// Indexes of lclusters.
    Indexes(IndexTable, IndexMap, IndexLayout),
    /// Extent records.
    Records(RecordTable, Arc<Anchors>),
}

/// The extents of a compressed file in order.
pub(crate) enum Walk<'a> {
    /// None.
    Empty,
    /// One fragment.
    Fragment { offset: u64 },
    /// Indexes of lclusters.
    Indexes(IndexTable, Box<zmap::Extents<Indexes<'a>>>),
    /// Extent records, looked up one by one.
    Records(RecordTable, Arc<Anchors>, Records<'a>),
}

impl Compressed {
    pub(super) fn new(metadata: &dyn Metadata, inode: &Inode) -> Result<Self, Fault> {
        let (sb, header_at) = (metadata.superblock(), inode.layout_position()?);
        if inode.size == 0 {
            return Ok(Self::Empty);
        }
        let layout = match inode.layout {
            Layout::CompressedCompact => IndexLayout::Compact,
            _ => IndexLayout::Full,
        };
        let mut header = [0; MapHeader::SIZE];
        metadata.read_metadata(inode.space, header_at, &mut header)?;
        let context = HeaderContext { layout, block_bits: sb.block, features: sb.incompat };
        Ok(match MapHeader::parse(header, context)? {
            MapHeader::WholeFragment { offset } => Self::Fragment { offset },
            MapHeader::Indexes(header) => {
                let table = IndexTable::new(&header, sb.block, inode.size, header_at)?;
                Self::Indexes(table, IndexMap::new(header, sb.block, inode.size), layout)
            }
            MapHeader::Records(header) => {
                let table = RecordTable::new(header, sb.block, inode.size, header_at);
                let table = table.ok_or(Corruption::Address)?;
                let view = View::new(metadata, inode.space);
                let anchors = table.anchors(&mut Records { view, start: table.start() })?;
                Self::Records(table, Arc::new(anchors))
            }
        })
    }

    pub(super) const fn has_no_holes(&self) -> bool {
        match self {
            Self::Empty | Self::Fragment { .. } | Self::Indexes(.., IndexLayout::Compact) => true,
            Self::Indexes(.., IndexLayout::Full) | Self::Records(..) => false,
        }
    }

    /// Where the table ends whose header, if there is one, starts at `header_at`.
    pub(super) fn table_end(&self, header_at: u64) -> Option<u64> {
        match self {
            Self::Empty => Some(header_at),
            Self::Fragment { .. } => header_at.checked_add(MapHeader::SIZE as u64),
            Self::Indexes(table, ..) => table.start().checked_add(table.size()),
            Self::Records(table, _) => table.start().checked_add(table.size()),
        }
    }

    /// The extents from the one that holds byte `la` on.
    pub(super) fn walk<'a>(&self, view: View<'a>, la: u64) -> Walk<'a> {
        match *self {
            Self::Empty => Walk::Empty,
            Self::Fragment { offset } => Walk::Fragment { offset },
            Self::Indexes(table, map, _) => {
                let source = Indexes { view, table };
                Walk::Indexes(table, Box::new(map.extents_from(source, La(la))))
            }
            Self::Records(table, ref anchors) => {
                let source = Records { view, start: table.start() };
                Walk::Records(table, Arc::clone(anchors), source)
            }
        }
    }
}

impl Walk<'_> {
    /// The extent that holds byte `la`, which is the end of the extent before unless this is the first.
    pub(super) fn step(
        &mut self,
        metadata: &dyn Metadata,
        inode: &Inode,
        la: u64,
    ) -> Result<Extent, Fault> {
        let beyond = zmap::MapDamage::BeyondEof { la: La(la), size: inode.size };
        let beyond = || Fault::from(beyond);
        match self {
            Self::Empty => Err(beyond()),
            Self::Fragment { offset } => {
                let offset = offset.checked_add(la).ok_or(Corruption::Address)?;
                Ok(fragment(la, inode.size - la, offset))
            }
            Self::Indexes(table, extents) => {
                let extent = extents.next().ok_or_else(beyond)??;
                to_extent(metadata, inode, &extent, || Ok(table.inline_at()?))
            }
            Self::Records(table, anchors, source) => {
                let extent = table.map(source, La(la), anchors)?;
                to_extent(metadata, inode, &extent, || Err(beyond()))
            }
        }
    }
}

const fn fragment(la: u64, len: u64, offset: u64) -> Extent {
    Extent { la, len, kind: ExtentKind::Fragment, place: Place::Packed { offset }, plen: len }
}

/// Resolves the location of a mapped extent; `inline_at` returns where inline data starts.
fn to_extent(
    metadata: &dyn Metadata,
    inode: &Inode,
    mapped: &MappedExtent,
    inline_at: impl FnOnce() -> Result<u64, Fault>,
) -> Result<Extent, Fault> {
    let (la, len) = (mapped.la.0, mapped.llen);
    let (place, plen) = match mapped.location {
        Location::Hole => return Ok(Extent::hole(la, len)),
        Location::Fragment { offset } => return Ok(fragment(la, len, offset)),
        Location::Blocks { pa, plen } => (Place::Device(metadata.devices().resolve(0, pa)?), plen),
        Location::Inline { plen } => {
            let position = inline_at()?;
            check_inline(metadata, position, plen.into())?;
            (Place::Metadata { space: inode.space, position }, plen)
        }
    };
    let kind = match mapped.kind {
        zmap::ExtentKind::Plain { interlaced } => ExtentKind::Plain { interlaced },
        zmap::ExtentKind::Compressed { algorithm } => {
            let algorithm = Algorithm::try_from(algorithm)?;
            let sb = metadata.superblock();
            if !sb.declares(algorithm) {
                return Err(Corruption::UndeclaredAlgorithm { la, algorithm }.into());
            }
            // Where streams begin their pclusters, only the extent's length says where they end.
            let partial = mapped.partial || (algorithm == Algorithm::Lz4 && !sb.pads_lz4());
            ExtentKind::Compressed { algorithm, partial }
        }
    };
    Ok(Extent { la, len, kind, place, plen: plen.into() })
}

/// Indexes from an image's metadata.
pub(crate) struct Indexes<'a> {
    view: View<'a>,
    table: IndexTable,
}

impl IndexSource for Indexes<'_> {
    type Error = Fault;

    fn load(&mut self, lcn: Lcn) -> Result<LclusterIndex, Fault> {
        let range = self.table.range(lcn)?;
        // `IndexTable::new` refuses a table that ends beyond 2^64.
        let position = self.table.start() + range.start;
        let length = usize::try_from(range.end - range.start);
        let length = length.expect("a compact pack or a full index has 32 bytes at most");
        if let Some(bytes) = self.view.slice(position, length)? {
            return Ok(self.table.decode(bytes, lcn)?);
        }
        let mut bytes = [0; 32];
        let (bytes, _) = bytes.split_at_mut(length);
        self.view.read(position, bytes)?;
        Ok(self.table.decode(bytes, lcn)?)
    }
}

/// Bytes of a table of records from an image's metadata.
pub(crate) struct Records<'a> {
    view: View<'a>,
    start: u64,
}

impl RecordSource for Records<'_> {
    type Error = Fault;

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        let position = self.start.checked_add(at).ok_or(Corruption::Address)?;
        self.view.read(position, into)
    }
}
