//! Moves the pclusters of a file that is mapped already to other blocks.

use super::{
    extent::ExtentRecord,
    header::{Advise, HeaderContext, IndexHeader, IndexLayout, MapHeader, RecordsHeader},
    index::NONHEAD,
    locate::{CompactLayout, extent_records_offset, two_byte},
};

/// Bits of the first half-word of a full index that are the type of an lcluster.
const TYPE: u16 = 3;

/// Adds `by` blocks to the address of each pcluster in the map of a file of `size` bytes, which starts with its header and is
/// one that [`encode_full`](super::encode_full), [`encode_compact`](super::encode_compact),
/// [`encode_records`](super::encode_records) or [`encode_whole_fragment`](super::encode_whole_fragment) made, the header at
/// `header_mod_32` bytes beyond a multiple of 32. Fragments, which have no address, stay. Addresses wrap at 2^32 where they have
/// 32 bits, as those of pclusters without blocks may.
///
/// `false`: it is no such map.
#[must_use]
pub fn move_pclusters(
    map: &mut [u8],
    context: HeaderContext,
    (size, header_mod_32): (u64, u8),
    by: u64,
) -> bool {
    let Some(header) = map.first_chunk() else { return false };
    match MapHeader::parse(*header, context) {
        Ok(MapHeader::WholeFragment { .. }) => true,
        Ok(MapHeader::Indexes(header)) if header.layout == IndexLayout::Full => {
            move_full(map, &header, size, by)
        }
        Ok(MapHeader::Indexes(_)) => {
            let block = context.block_bits;
            let start = (header_mod_32 + 8) % 32;
            let layout = CompactLayout::new(start, block.blocks_for(size), two_byte(block));
            move_compact(map, layout, by)
        }
        Ok(MapHeader::Records(header)) => {
            move_records(map, &header, header_mod_32, by << context.block_bits.bits())
        }
        Err(_) => false,
    }
}

/// Adds to the word of each HEAD, but neither to that of the end marker nor to the fragment's, the last one.
fn move_full(map: &mut [u8], header: &IndexHeader, size: u64, by: u64) -> bool {
    let count = usize::try_from(header.lclusters(size)).unwrap_or(usize::MAX);
    let Some((table, _)) =
        count.checked_mul(8).and_then(|len| map.get_mut(16..)?.split_at_mut_checked(len))
    else {
        return false;
    };
    let mut is_fragment = header.advise.contains(Advise::FRAGMENT);
    let mut end = size;
    for (lcn, index) in table.chunks_exact_mut(8).enumerate().rev() {
        let [kind, kind_high, offset, offset_high, word @ ..] = index else { return false };
        let within = u16::from_le_bytes([*offset, *offset_high]);
        let start = lcn as u64 * header.lcluster_size() + u64::from(within);
        if u16::from_le_bytes([*kind, *kind_high]) & TYPE == NONHEAD || start >= end {
            continue;
        }
        end = start;
        if !core::mem::take(&mut is_fragment) {
            add(word, by);
        }
    }
    true
}

/// Adds to the base of each pack, its last four bytes.
fn move_compact(map: &mut [u8], layout: CompactLayout, by: u64) -> bool {
    let mut rest = map.get_mut(8..).unwrap_or_default();
    let runs = [(layout.init / 2, 8), (layout.c2 / 16, 32), (layout.rest.div_ceil(2), 8)];
    for (packs, len) in runs {
        for _pack in 0..packs {
            let Some((pack, others)) = rest.split_at_mut_checked(len) else { return false };
            add(pack.split_at_mut(len - 4).1, by);
            rest = others;
        }
    }
    true
}

/// Adds to the first byte of each pcluster that has some.
fn move_records(map: &mut [u8], header: &RecordsHeader, header_mod_32: u8, by: u64) -> bool {
    let (size, at) = (header.record_size, u64::from(header_mod_32));
    let start = extent_records_offset(at, size).and_then(|start| usize::try_from(start - at).ok());
    let Some(table) = start.and_then(|start| map.get_mut(start..)) else { return false };
    let len = size.bytes() as usize;
    if len < 16 {
        return false;
    }
    let count = table.len() / len;
    let is_fragment = header.advise.contains(Advise::FRAGMENT);
    for (number, bytes) in table.chunks_exact_mut(len).enumerate() {
        let Some(record) = ExtentRecord::decode(bytes, size) else { return false };
        let is_hole = record.plen() == 0;
        if is_hole || (is_fragment && number + 1 == count) {
            continue;
        }
        let moved = record.pstart.wrapping_add(by).to_le_bytes();
        bytes.iter_mut().skip(4).zip(moved).for_each(|(byte, new)| *byte = new);
    }
    true
}

/// Adds to a word of 32 bits.
fn add(word: &mut [u8], by: u64) {
    let Some(word) = word.first_chunk_mut() else { return };
    let [a, b, c, d, ..] = by.to_le_bytes();
    *word = u32::from_le_bytes(*word).wrapping_add(u32::from_le_bytes([a, b, c, d])).to_le_bytes();
}
