//! Finds chunks in a local file, so that they need not be fetched. Defines [`LocalChunks`].

use std::{collections::HashMap, fs::File, io};

use lith_system::FileAt;
use sha2::{Digest, Sha256};

use super::{
    cut::{ChunkSize, cut_chunks},
    index::Chunk,
};

/// The chunks of a local file, such as an older version of an image.
#[derive(Debug)]
pub struct LocalChunks {
    file: File,
    /// Where they are.
    chunks: HashMap<[u8; 32], u64>,
}

impl LocalChunks {
    /// Reads a file, and cuts it as an image was cut.
    ///
    /// # Errors
    /// Those of reading.
    pub fn of(file: File, size: ChunkSize) -> io::Result<Self> {
        let (index, _) = cut_chunks(&file, size)?;
        let chunks = index.chunks().map(|chunk| (chunk.sha256, chunk.start)).collect();
        Ok(Self { file, chunks })
    }

    /// The bytes of a chunk; `None`: the file has not, or no longer, any with this digest.
    pub(super) fn read(&self, chunk: &Chunk) -> Option<Vec<u8>> {
        let start = *self.chunks.get(&chunk.sha256)?;
        let mut bytes = vec![0; usize::try_from(chunk.length).ok()?];
        self.file.read_exact_at(&mut bytes, start).ok()?;
        (<[u8; 32]>::from(Sha256::digest(&bytes)) == chunk.sha256).then_some(bytes)
    }
}
