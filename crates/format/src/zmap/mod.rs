//! How does a compressed file map its bytes to extents?
//!
//! The inode is followed by a map header ([`MapHeader`]), then one of three tables: full indexes of 8 bytes
//! for each lcluster, compact packs of about 2 or 4, or extent records. [`IndexMap`] answers lookups over
//! the first two, [`RecordTable`] over the third; [`encode_full`], [`encode_compact`] and [`encode_records`] write them.

mod compact;
mod encode;
mod error;
mod extent;
mod full;
mod header;
mod index;
mod limits;
mod locate;
mod lookup;
mod mapped;
mod table;
#[cfg(test)]
mod tests;

pub use compact::CompactTable;
pub use encode::{
    EncodeError, EncodeParams, EncodedExtent, NeedsFull, Tail, encode_compact, encode_full,
    encode_records, encode_whole_fragment,
};
pub use error::{MapDamage, MapError};
pub use extent::{Anchors, ExtentRecord, RecordExtents, RecordSource, RecordTable, ShortTable};
pub use full::FullTable;
pub use header::{
    Advise, HeaderContext, HeaderError, IndexHeader, IndexLayout, MapHeader, RawMapHeader,
    RecordSize, RecordsHeader, RecordsShape,
};
pub use index::{Head, HeadKind, IndexError, LclusterIndex, NonHead};
pub use limits::{MAX_EXTENT_LEN, MAX_PCLUSTER_BLOCKS, MAX_PCLUSTER_SIZE};
pub use locate::{
    CompactLayout, TableKind, compact_offset, extent_records_offset, full_index_offset,
    map_header_offset,
};
pub use lookup::{Extents, IndexMap};
pub use mapped::{ExtentError, ExtentKind, Location, MappedExtent};
pub use table::{IndexSource, IndexTable, SliceSource};
