//! What does the chunk table of a file with holes look like?

use lith_format::{
    addr::{Blkaddr, BlockBits},
    chunk::{Chunk, ChunkError, ChunkFormat},
};

/// Chunk size and chunks of a file whose granules are holes or lie, one behind the other, from block `start` on.
/// Chunks are as large as they can be without mixing holes and data.
fn chunk_table(holes: &[bool], granule: u32, block: BlockBits, start: u64) -> (u8, Vec<Chunk>) {
    let granule_bits = granule.trailing_zeros().saturating_sub(block.bits().into());
    let granule_bits = u8::try_from(granule_bits).unwrap_or(0);
    let merged = (granule_bits..=ChunkFormat::MAX_BITS)
        .take_while(|bits| is_uniform(holes, 1 << (bits - granule_bits)))
        .last()
        .unwrap_or(granule_bits);
    // Once a chunk holds the whole file, larger ones say no more.
    let enough = (granule_bits..merged).find(|bits| 1 << (bits - granule_bits) >= holes.len());
    let bits = enough.unwrap_or(merged);
    let granules = 1_usize << (bits - granule_bits);
    let mut next = start;
    let mut chunks = Vec::with_capacity(holes.len().div_ceil(granules));
    for chunk in holes.chunks(granules) {
        let is_hole = chunk.first() == Some(&true);
        chunks.push(if is_hole {
            Chunk::HOLE
        } else {
            Chunk { device: 0, start: Some(Blkaddr(next)) }
        });
        next += if is_hole { 0 } else { (chunk.len() as u64) << granule_bits };
    }
    (bits, chunks)
}

/// Whether no chunk of `granules` granules has both holes and data.
fn is_uniform(holes: &[bool], granules: usize) -> bool {
    holes.chunks(granules).all(|chunk| chunk.iter().all(|hole| Some(hole) == chunk.first()))
}

/// Encodes the table of a file with holes.
pub(crate) fn encode_chunk_table(
    holes: &[bool],
    granule: u32,
    block: BlockBits,
    start: u64,
) -> Result<(ChunkFormat, Vec<u8>), ChunkError> {
    let (bits, chunks) = chunk_table(holes, granule, block, start);
    let last = chunks.iter().filter_map(|chunk| chunk.start).max();
    let is_far = last.is_some_and(|last| last.0 >= u32::MAX.into());
    let unknown = ChunkError::UnknownFormat { format: bits.into() };
    let format = ChunkFormat::new(bits, is_far, is_far).ok_or(unknown)?;
    let mut table = Vec::with_capacity(chunks.len() * format.unit());
    for chunk in chunks {
        chunk.encode_into(format, &mut table)?;
    }
    Ok((format, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(holes: &[bool], granule: u32) -> (u8, Vec<Option<u64>>) {
        let (bits, chunks) = chunk_table(holes, granule, BlockBits::DEFAULT, 100);
        (bits, chunks.iter().map(|c| c.start.map(|b| b.0)).collect())
    }

    #[test]
    fn chunks_grow_as_far_as_they_stay_uniform() {
        let (h, d) = (true, false);
        assert_eq!(table(&[h, d, h], 4096), (0, vec![None, Some(100), None]));
        assert_eq!(table(&[h, h, d, d, d, d], 4096), (1, vec![None, Some(100), Some(102)]));
        assert_eq!(table(&[h, h, d, d, d], 16384), (3, vec![None, Some(100), Some(108)]));
        assert_eq!(table(&[h; 5], 4096), (3, vec![None]));
        assert_eq!(table(&[h], 4096), (0, vec![None]));
    }
}
