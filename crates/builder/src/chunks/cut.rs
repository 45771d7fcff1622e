//! Into what chunks do bytes fall?

use lith_format::addr::BlockBits;
use xxhash_rust::xxh3::xxh3_128;

use crate::compress::{SEGMENT, is_zero};

use super::Chunks;

/// A chunk, of which the bytes lie elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashedChunk {
    /// Of its bytes and the zeros that fill its last block; nothing if all are zeros.
    pub(crate) hash: Option<u128>,
    pub(crate) blocks: u32,
}

impl Chunks {
    /// Bytes that are looked up as one.
    pub(crate) fn granule(self) -> u32 {
        self.size.min(u32::try_from(SEGMENT).unwrap_or(u32::MAX))
    }
}

/// Appends those chunks of `bytes` to `out` that are not all zeros, each filled up to whole blocks, and says which
/// there are.
pub(crate) fn cut(
    bytes: &[u8],
    chunks: Chunks,
    block: BlockBits,
    out: &mut Vec<u8>,
) -> Vec<HashedChunk> {
    let mut chunk = |bytes: &[u8]| {
        // A granule at most.
        let blocks = u32::try_from(block.blocks_for(bytes.len() as u64)).unwrap_or(u32::MAX);
        if is_zero(bytes) {
            return HashedChunk { hash: None, blocks };
        }
        let start = out.len();
        out.extend_from_slice(bytes);
        out.resize(start + bytes.len().next_multiple_of(block.size() as usize), 0);
        let hash = out.get(start..).map(xxh3_128);
        HashedChunk { hash, blocks }
    };
    bytes.chunks(chunks.granule() as usize).map(&mut chunk).collect()
}

#[cfg(test)]
mod tests {
    use crate::ChunkForm;

    use super::*;

    #[test]
    fn zeros_are_left_out_and_short_chunks_filled_up() {
        let chunks = Chunks { size: 8192, form: ChunkForm::Smallest };
        let mut bytes = vec![1; 8192];
        bytes.extend([0; 8192]);
        bytes.extend([1; 100]);
        let mut out = vec![9];
        let cut = cut(&bytes, chunks, BlockBits::DEFAULT, &mut out);
        assert_eq!(cut.iter().map(|chunk| chunk.blocks).collect::<Vec<_>>(), [2, 2, 1]);
        assert!(cut[0].hash.is_some() && cut[1].hash.is_none() && cut[2].hash.is_some());
        assert_eq!(out.len(), 1 + 8192 + 4096);
        assert_eq!((out[8192], out[8193 + 99], out[8193 + 100]), (1, 1, 0));
    }
}
