//! Moves the addresses in the tables of files whose content was stored before the metadata that precedes it.

use lith_format::{
    addr::Blkaddr,
    chunk::{Chunk, ChunkFormat},
    features::Incompat,
    inode::{InodeData, Layout},
    zmap::{HeaderContext, IndexLayout, move_pclusters},
};

use crate::{place::SizedInode, plan::Geometry};

/// Adds `by` blocks to the addresses in the table of a file, or to none if it has inline data alone.
///
/// # Panics
/// If the table is not one that this crate has encoded.
pub(super) fn move_table(geometry: Geometry<'_>, sized: &SizedInode, table: &mut [u8], by: u64) {
    let is_moved = match (sized.inode.layout, sized.inode.data) {
        (_, InodeData::Chunked(format)) => move_chunks(table, format, by),
        (Layout::CompressedFull, _) => move_map(geometry, sized, (table, IndexLayout::Full), by),
        (Layout::CompressedCompact, _) => {
            move_map(geometry, sized, (table, IndexLayout::Compact), by)
        }
        _ => true,
    };
    assert!(is_moved, "a table that was encoded here can be read");
}

fn move_map(
    geometry: Geometry<'_>,
    sized: &SizedInode,
    (table, layout): (&mut [u8], IndexLayout),
    by: u64,
) -> bool {
    let (size, block_bits) = (sized.inode.size, geometry.plan.options.layout.block);
    let header = geometry.map_header(sized.index, size) % 32;
    let header = u8::try_from(header).expect("less than 32");
    let context = HeaderContext { layout, block_bits, features: Incompat::all() };
    move_pclusters(table, context, (size, header), by)
}

/// Adds to the address of each chunk that the image itself holds.
fn move_chunks(table: &mut [u8], format: ChunkFormat, by: u64) -> bool {
    let mut encoded = Vec::with_capacity(format.unit());
    table.chunks_exact_mut(format.unit()).all(|entry| {
        let Ok(chunk) = Chunk::parse(format, entry) else { return false };
        let Chunk { device: 0, start: Some(start) } = chunk else { return true };
        encoded.clear();
        let moved = Chunk { device: 0, start: Some(Blkaddr(start.0 + by)) };
        let is_encoded = moved.encode_into(format, &mut encoded).is_ok();
        entry.iter_mut().zip(&encoded).for_each(|(byte, new)| *byte = *new);
        is_encoded
    })
}
