//! Defines [`WrittenChunks`], which finds chunks that are written already.
//!
//! Two chunks are the same only if their bytes are, not just their hashes.

use std::{collections::HashMap, io};

use lith_format::addr::BlockBits;

use crate::Output;

/// Where a chunk is.
#[derive(Clone, Copy, Debug)]
struct Known {
    start: u64,
    blocks: u32,
}

/// The chunks that are written.
#[derive(Debug)]
pub(crate) struct WrittenChunks {
    block: BlockBits,
    /// Whether equal chunks are stored once.
    shares: bool,
    /// The first chunk of each hash.
    known: HashMap<u128, Known>,
    /// What is not written yet.
    pending: Vec<u8>,
    /// The block where that starts.
    start: u64,
    /// Memory for reading chunks back.
    read: Vec<u8>,
}

impl WrittenChunks {
    pub(crate) fn new(block: BlockBits, shares: bool) -> Self {
        let (known, pending, read) = (HashMap::new(), Vec::new(), Vec::new());
        Self { block, shares, known, pending, start: 0, read }
    }

    /// The first block of a chunk in `file`: that of an equal one, or `next`, where it will be written.
    pub(crate) fn put(
        &mut self,
        hash: u128,
        bytes: &[u8],
        (file, next): (Output<'_>, u64),
    ) -> io::Result<u64> {
        let blocks = u32::try_from(self.block.blocks_for(bytes.len() as u64));
        let blocks = blocks.expect("a chunk has at most a granule's blocks");
        let known = self.known.get(&hash).copied();
        if let Some(Known { start, blocks: of_known }) = known
            && of_known == blocks
            && self.is_at(start, bytes, file)?
        {
            return Ok(start);
        }
        if self.shares {
            self.known.entry(hash).or_insert(Known { start: next, blocks });
        }
        if self.pending.is_empty() {
            self.start = next;
        }
        let distance = (next - self.start) * u64::from(self.block.size());
        self.pending.resize(usize::try_from(distance).expect("what is pending is in memory"), 0);
        self.pending.extend_from_slice(bytes);
        Ok(next)
    }

    /// Whether these bytes are what is written, or will be, from that block on.
    fn is_at(&mut self, block: u64, bytes: &[u8], file: Output<'_>) -> io::Result<bool> {
        let size = u64::from(self.block.size());
        let distance = block.checked_sub(self.start).filter(|_| !self.pending.is_empty());
        if let Some(distance) = distance {
            let at = usize::try_from(distance * size).expect("what is pending is in memory");
            let there = self.pending.get(at..).and_then(|there| there.get(..bytes.len()));
            return Ok(there == Some(bytes));
        }
        self.read.resize(bytes.len(), 0);
        file.read_exact_at(&mut self.read, block * size)?;
        Ok(self.read == bytes)
    }

    /// Writes what is not written yet.
    pub(crate) fn flush(&mut self, file: Output<'_>) -> io::Result<()> {
        file.write_all_at(&self.pending, self.start * u64::from(self.block.size()))?;
        self.pending.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn put(store: &mut WrittenChunks, image: &File, hash: u128, byte: u8, next: u64) -> u64 {
        store.put(hash, &[byte; 8192], (image.into(), next)).unwrap()
    }

    #[test]
    fn equal_chunks_are_found_in_memory_and_on_file() {
        let file = tempfile::tempfile().unwrap();
        let mut store = WrittenChunks::new(BlockBits::DEFAULT, true);
        assert_eq!(put(&mut store, &file, 1, 1, 10), 10);
        assert_eq!(put(&mut store, &file, 2, 2, 12), 12);
        assert_eq!(put(&mut store, &file, 1, 1, 14), 10);
        store.flush((&file).into()).unwrap();
        assert_eq!(put(&mut store, &file, 2, 2, 14), 12);
        // Another chunk of the same hash.
        assert_eq!(put(&mut store, &file, 2, 3, 14), 14);
        store.flush((&file).into()).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 16 * 4096);
    }

    #[test]
    fn each_chunk_is_written_where_none_are_shared() {
        let file = tempfile::tempfile().unwrap();
        let mut store = WrittenChunks::new(BlockBits::DEFAULT, false);
        assert_eq!(put(&mut store, &file, 1, 1, 10), 10);
        assert_eq!(put(&mut store, &file, 1, 1, 12), 12);
    }
}
