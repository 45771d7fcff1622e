//! Tests tables against the extents they encode: those of real images, random ones and corrupt ones.

mod examples;
mod hostile;
mod properties;

use super::*;
use crate::{
    addr::{Blkaddr, BlockBits, La, Lcn, Pa},
    features::Incompat,
};

/// A decoded map: header and table at `header_at`, from bytes that begin with the header.
fn open(
    bytes: &[u8],
    layout: IndexLayout,
    block_bits: BlockBits,
    (size, header_at): (u64, u64),
) -> (IndexMap, IndexTable) {
    let context = HeaderContext { layout, block_bits, features: Incompat::all() };
    let header = MapHeader::parse(bytes[..8].try_into().unwrap(), context).unwrap();
    let MapHeader::Indexes(header) = header else { panic!("not an index table: {header:?}") };
    assert_eq!(MapHeader::Indexes(header).encode(block_bits), bytes[..8]);
    let table = IndexTable::new(&header, block_bits, size, header_at).unwrap();
    (IndexMap::new(header, block_bits, size), table)
}

/// The bytes of the table after the header.
fn source<'a>(table: &IndexTable, bytes: &'a [u8], header_at: u64) -> SliceSource<'a> {
    let skip = usize::try_from(table.start() - header_at).unwrap();
    SliceSource { table: *table, bytes: &bytes[skip..] }
}

fn blocks(pa: u64, plen: u32) -> Location {
    Location::Blocks { pa: Pa(pa), plen }
}
