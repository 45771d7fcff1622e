//! Tests tables against the extents they encode: those of real images, random ones and corrupt ones.

mod examples;
mod hostile;
mod properties;

use super::{extent::ExtentRecord, *};
use crate::{
    addr::{Blkaddr, BlockBits, La, Lcn, Pa},
    features::Incompat,
};

impl<S: IndexSource + ?Sized> IndexSource for &mut S {
    type Error = S::Error;

    fn load(&mut self, lcn: Lcn) -> Result<LclusterIndex, S::Error> {
        (**self).load(lcn)
    }
}

/// A whole table in memory.
#[derive(Clone, Copy)]
struct SliceSource<'a> {
    table: IndexTable,
    /// Its bytes, from its start on.
    bytes: &'a [u8],
}

impl IndexSource for SliceSource<'_> {
    type Error = IndexError;

    fn load(&mut self, lcn: Lcn) -> Result<LclusterIndex, IndexError> {
        let start = usize::try_from(self.table.range(lcn)?.start).unwrap();
        self.table.decode(self.bytes.get(start..).unwrap_or_default(), lcn)
    }
}

impl RecordSource for &[u8] {
    /// The table is not that long.
    type Error = ();

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), ()> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..));
        into.copy_from_slice(rest.and_then(|rest| rest.get(..into.len())).ok_or(())?);
        Ok(())
    }
}

/// The extent that holds byte `la`.
fn map_byte<S: IndexSource>(
    map: &IndexMap,
    source: S,
    la: La,
) -> Result<MappedExtent, MapError<S::Error>> {
    map.extents_from(source, la).next().expect("the byte is in the file")
}

/// All extents of a table of records, in order.
fn record_extents(
    table: &RecordTable,
    mut bytes: &[u8],
    size: u64,
) -> Result<Vec<MappedExtent>, MapError<()>> {
    let anchors = table.anchors(&mut bytes)?;
    let mut all: Vec<MappedExtent> = Vec::new();
    loop {
        let la = all.last().map_or(La(0), MappedExtent::end);
        if la.0 >= size {
            return Ok(all);
        }
        all.push(table.map(&mut bytes, la, &anchors)?);
    }
}

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
