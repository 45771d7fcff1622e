//! How do the chunks of files reach the image?

use lith_format::{addr::Blkaddr, chunk::Chunk};
use lith_tree::{Content, InodeIndex};

use super::{Chunks, HashedChunk, Runs, cut};
use crate::{
    BuildError, ChunkForm, Digest, DigestOfPieces, PIECE,
    compress::granule_for,
    data::{DataWriter, FileData},
    devices::Blob,
};

impl DataWriter<'_> {
    /// Takes chunks off the front of `bytes`, which has those that are no holes, and adds to `runs` where they lie.
    pub(crate) fn put_chunks(
        &mut self,
        chunks: &[HashedChunk],
        bytes: &mut &[u8],
        runs: &mut Runs,
    ) -> Result<(), BuildError> {
        let block = self.block();
        for HashedChunk { hash, blocks } in chunks {
            let blocks = u64::from(*blocks);
            let Some(hash) = hash else {
                runs.push(Chunk::HOLE, blocks);
                continue;
            };
            let len = usize::try_from(blocks * u64::from(block.size())).unwrap_or(usize::MAX);
            let (chunk, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
            *bytes = rest;
            let (file, device, next) = match &self.blob {
                Some(blob) => (blob.file.into(), Blob::DEVICE, blob.next),
                None => (self.image, 0, self.next),
            };
            let next = next.next_multiple_of(self.sources.options.chunk_alignment());
            let start = self
                .chunks
                .put(*hash, chunk, (file, next))
                .map_err(|source| BuildError::Output { action: "read back", source })?;
            if start == next {
                self.end_chunk(next, blocks)?;
            }
            runs.push(Chunk { device, start: Some(Blkaddr(start)) }, blocks);
        }
        Ok(())
    }

    /// Takes the blocks of a chunk that begins at block `start`.
    fn end_chunk(&mut self, start: u64, blocks: u64) -> Result<(), BuildError> {
        let limit = self.sources.options.most_blocks();
        match &mut self.blob {
            Some(_) if start + blocks > limit => Err(BuildError::TooLarge { limit }),
            Some(blob) => {
                blob.next = start + blocks;
                Ok(())
            }
            None => {
                self.next = start;
                self.advance(blocks)
            }
        }
    }

    /// Writes the chunks that are not written yet.
    pub(crate) fn flush_chunks(&mut self) -> Result<(), BuildError> {
        let file = self.blob.as_ref().map_or(self.image, |blob| blob.file.into());
        let written = self.chunks.flush(file);
        written.map_err(|source| BuildError::Output { action: "write", source })
    }

    /// Remembers a file whose granules are holes or lie from block `start` on.
    pub(crate) fn set_sparse(
        &mut self,
        inode: InodeIndex,
        size: u64,
        start: u64,
        holes: &[bool],
    ) -> Result<(), BuildError> {
        let granule = granule_for(size, self.block()) / self.block().size();
        self.set_runs(inode, &Runs::of_holes(holes, granule.into(), start))
    }

    /// Remembers where a file's chunks lie.
    pub(crate) fn set_runs(&mut self, inode: InodeIndex, runs: &Runs) -> Result<(), BuildError> {
        let form = match self.sources.options.layout.chunks {
            Some(chunks) => chunks.form,
            None => ChunkForm::Smallest,
        };
        let (format, table) =
            runs.encode(form).map_err(|error| self.unencodable(inode, "chunk table", &error))?;
        let sparse = runs.has_holes();
        self.set(inode, FileData::Chunked { format, sparse }, &table)
    }

    /// Stores a file's bytes in chunks from block `start` on, over all that was written there.
    pub(crate) fn rewrite_in_chunks(
        &mut self,
        (inode, size): (InodeIndex, u64),
        content: &dyn Content,
        start: u64,
        chunks: Chunks,
    ) -> Result<(), BuildError> {
        self.take_back(start)?;
        let step = PIECE.max(chunks.granule().into());
        let (mut buf, mut blocks) = (Vec::new(), Vec::new());
        let (mut digest, mut runs) = (DigestOfPieces::default(), Runs::default());
        for position in (0..size).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            let len = step.min(size - position);
            buf.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
            content.read_at(&mut buf, position)?;
            digest.extend(Digest::of_pieces(&buf));
            blocks.clear();
            let hashed = cut(&buf, chunks, self.block(), &mut blocks);
            self.put_chunks(&hashed, &mut &*blocks, &mut runs)?;
            self.flush_chunks()?;
        }
        self.set_digest(inode, digest.finish());
        self.set_runs(inode, &runs)
    }

    /// Makes the image as long as its blocks that are taken, written or not.
    pub(crate) fn reach_end(&self) -> Result<(), BuildError> {
        let end = self.next * u64::from(self.block().size());
        self.image.reach(end).map_err(|source| BuildError::Output { action: "write", source })
    }

    /// Gives all blocks from `start` on back. Of a file, which can be cut, nothing stays of what they held.
    fn take_back(&mut self, start: u64) -> Result<(), BuildError> {
        let end = start * u64::from(self.block().size());
        self.next = start;
        self.image.cut(end).map_err(|source| BuildError::Output { action: "write", source })
    }
}
