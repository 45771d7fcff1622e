//! Which bytes index a file's extents, as mkfs.erofs would write them?
//!
//! One file for each form of index; `params` has what they take, `rules` which extents they can express, `walk` how
//! extents become indexes of lclusters.

mod compact;
mod full;
mod params;
mod records;
mod rules;
mod walk;

pub use self::{
    compact::encode_compact,
    full::encode_full,
    params::{EncodeParams, EncodedExtent, Tail},
    records::encode_records,
    rules::{EncodeError, NeedsFull},
};
use super::header::MapHeader;
use crate::addr::BlockBits;

/// The map of a file that is one fragment: header and 8 reserved bytes. Offsets are below 2^63.
#[must_use]
pub fn encode_whole_fragment(offset: u64) -> [u8; 16] {
    let mut out = [0; 16];
    let header = MapHeader::WholeFragment { offset }.encode(BlockBits::DEFAULT);
    out.first_chunk_mut::<{ MapHeader::SIZE }>().into_iter().for_each(|head| *head = header);
    out
}
