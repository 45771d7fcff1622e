//! How are files stored in chunks, of which equal ones are stored once?
//!
//! Workers cut files into chunks and hash them; the one that writes looks up which it has written before. Two
//! chunks are taken for the same only if their bytes are, not just their hashes.

mod cut;
mod runs;
mod store;
mod writer;

pub(crate) use cut::{HashedChunk, cut};
pub(crate) use runs::Runs;
pub(crate) use store::ChunkStore;

/// Files that are stored as they are lie in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Bytes in a chunk: a power of two, at least a block. Equal stretches are found in chunks of at most 16 MiB.
    pub size: u32,
    /// What their tables look like.
    pub form: ChunkForm,
}

/// What a table of chunks has for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChunkForm {
    /// An address of 4 bytes, or an index of 8 bytes where that is needed.
    #[default]
    Smallest,
    /// An address of 4 bytes.
    BlockMap,
    /// An index of 8 bytes: device and address.
    Indexes,
}
