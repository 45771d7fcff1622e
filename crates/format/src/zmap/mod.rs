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
mod locate;
mod lookup;
mod mapped;
mod moved;
mod table;
#[cfg(test)]
mod tests;

pub use encode::{
    EncodeError, EncodeParams, EncodedExtent, NeedsFull, Tail, encode_compact, encode_full,
    encode_records, encode_whole_fragment,
};
pub use error::{MapDamage, MapError};
pub use extent::{Anchors, RecordSource, RecordTable};
pub use header::{
    Advise, HeaderContext, HeaderError, IndexHeader, IndexLayout, MapHeader, RecordSize,
    RecordsHeader, RecordsShape,
};
pub use index::{Head, HeadKind, IndexError, LclusterIndex, NonHead};
pub use lookup::{Extents, IndexMap};
pub use mapped::{ExtentError, ExtentKind, Location, MappedExtent};
pub use moved::move_pclusters;
pub use table::{IndexSource, IndexTable};

/// The largest pcluster that kernels read, in bytes.
pub const MAX_PCLUSTER_SIZE: u64 = 1 << 20;

/// The longest decoded extent that kernels read, in bytes; tail fragments may be longer.
pub const MAX_EXTENT_LEN: u64 = 12 << 20;

/// The largest pcluster that an index can state, in blocks: CBLKCNT has 11 bits.
pub const MAX_PCLUSTER_BLOCKS: u16 = 2047;
