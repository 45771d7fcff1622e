//! Writes the chunks of files, of which equal ones are written once.
//!
//! Workers cut files into chunks and hash them; the thread that writes looks up which chunks it has written before.

mod cut;
mod runs;
mod written;

use std::fs::File;

use lith_format::{addr::Blkaddr, chunk::Chunk};

use self::written::WrittenChunks;
pub(super) use self::{
    cut::{HashedChunk, cut},
    runs::{Granules, Runs},
};
use super::allocator::Allocator;
use crate::{BuildError, Options, Output};

/// The device that all chunks are written to.
pub(super) struct Blob<'a> {
    file: &'a File,
    /// Its next free block.
    pub(super) next: u64,
}

impl<'a> Blob<'a> {
    /// Its number among the devices of the image, of which it is the only one beside the first.
    const DEVICE: u16 = 1;

    pub(super) const fn new(file: &'a File, next: u64) -> Self {
        Self { file, next }
    }
}

/// Writes chunks to the image, or to a device of their own.
pub(super) struct ChunkWriter<'a> {
    written: WrittenChunks,
    pub(super) blob: Option<Blob<'a>>,
    /// A chunk starts at a multiple of so many blocks.
    alignment: u64,
}

impl<'a> ChunkWriter<'a> {
    pub(super) fn new(options: &Options, blob: Option<Blob<'a>>) -> Self {
        let layout = &options.layout;
        let written = WrittenChunks::new(layout.block, layout.share_duplicates);
        Self { written, blob, alignment: options.chunk_alignment() }
    }

    /// Takes chunks off the front of `bytes`, which has those that are no holes, and adds to `runs` where they are.
    pub(super) fn put(
        &mut self,
        chunks: &[HashedChunk],
        bytes: &mut &[u8],
        runs: &mut Runs,
        allocator: &mut Allocator<'_>,
    ) -> Result<(), BuildError> {
        let block = u64::from(allocator.block().size());
        for HashedChunk { hash, blocks } in chunks {
            let blocks = u64::from(*blocks);
            let Some(hash) = hash else {
                runs.push(Chunk::HOLE, blocks);
                continue;
            };
            let len = usize::try_from(blocks * block).expect("a chunk is in memory");
            let (chunk, rest) = bytes.split_at(len);
            *bytes = rest;
            let (file, device, next) = match &self.blob {
                Some(blob) => (blob.file.into(), Blob::DEVICE, blob.next),
                None => (allocator.image(), 0, allocator.next()),
            };
            let next = next.next_multiple_of(self.alignment);
            let start = self.written.put(*hash, chunk, (file, next));
            let start =
                start.map_err(|source| BuildError::Output { action: "read back", source })?;
            if start == next {
                self.assign(next, blocks, allocator)?;
            }
            runs.push(Chunk { device, start: Some(Blkaddr(start)) }, blocks);
        }
        Ok(())
    }

    /// Assigns the blocks of a chunk that starts at block `start`.
    fn assign(
        &mut self,
        start: u64,
        blocks: u64,
        allocator: &mut Allocator<'_>,
    ) -> Result<(), BuildError> {
        if let Some(blob) = &mut self.blob {
            blob.next = start + blocks;
            return allocator.check_limit(blob.next);
        }
        allocator.skip_to(start);
        allocator.assign(blocks)
    }

    /// Writes the chunks that are not written yet.
    pub(super) fn flush(&mut self, image: Output<'_>) -> Result<(), BuildError> {
        let file = self.blob.as_ref().map_or(image, |blob| blob.file.into());
        let written = self.written.flush(file);
        written.map_err(|source| BuildError::Output { action: "write", source })
    }
}
