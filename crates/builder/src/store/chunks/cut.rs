//! Cuts bytes into chunks and hashes these.

use lith_format::addr::BlockBits;
use xxhash_rust::xxh3::xxh3_128;

use crate::{Chunks, sparse::is_zero};

/// A chunk without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashedChunk {
    /// The hash of its bytes and the zeros that fill its last block; `None` if all of them are zeros.
    pub(crate) hash: Option<u128>,
    pub(crate) blocks: u32,
}

/// Appends the chunks of `bytes` that are not all zeros to `out`, each padded to whole blocks, and returns all chunks.
pub(crate) fn cut(
    bytes: &[u8],
    chunks: Chunks,
    block: BlockBits,
    out: &mut Vec<u8>,
) -> Vec<HashedChunk> {
    let mut chunk = |bytes: &[u8]| {
        let blocks = u32::try_from(block.blocks_for(bytes.len() as u64));
        let blocks = blocks.expect("a chunk has at most a granule's blocks");
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
    fn zeros_are_holes_and_short_chunks_are_padded() {
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
