//! Reads metadata, which is stored in blocks of 8 KiB that are compressed one by one.

use std::sync::Arc;

use zerocopy::FromBytes;

use crate::{
    Corruption, Error, Part,
    cache::Block,
    limits::METADATA,
    store::{Store, metadata_size},
};

/// Where metadata of one table may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) part: Part,
    /// Where its first block is.
    pub(crate) start: u64,
    /// The position after its last block.
    pub(crate) end: u64,
}

/// Reads metadata one after another.
pub(crate) struct Reader<'a> {
    store: &'a Store,
    area: Area,
    block: Arc<Block>,
    /// What is read of the block.
    read: usize,
}

impl Area {
    /// Reads metadata from an address on: bits 16 and up are the position of a block from the area's start, the low 16 bits that
    /// of a byte in it, decoded.
    pub(crate) fn read_at(self, store: &Store, address: u64) -> Result<Reader<'_>, Error> {
        let (block, read) = (address >> 16, usize::from((address & 0xffff) as u16));
        let position = self.start.saturating_add(block);
        let block = self.block(store, position)?;
        if read > block.bytes.len() {
            return Err(Corruption::Address { part: self.part, position }.into());
        }
        Ok(Reader { store, area: self, block, read })
    }

    fn block(self, store: &Store, position: u64) -> Result<Arc<Block>, Error> {
        if !(self.start..self.end).contains(&position) {
            return Err(Corruption::Address { part: self.part, position }.into());
        }
        store.metadata_block(position)
    }

    /// The most bytes that its blocks hold, as far as they follow one another.
    pub(crate) fn bytes(self, store: &Store) -> Result<u64, Error> {
        let (mut position, mut bytes) = (self.start, 0);
        let mut chunk = Chunk::default();
        while position.saturating_add(2) < self.end {
            let Ok(size) = metadata_size(chunk.u16_at(store, position, self.end)?) else { break };
            position = position.saturating_add(2 + size as u64);
            bytes += METADATA as u64;
        }
        Ok(bytes)
    }
}

/// Bytes that are read at once to find the blocks in them.
#[derive(Default)]
struct Chunk {
    start: u64,
    bytes: Vec<u8>,
}

impl Chunk {
    const SIZE: u64 = 1 << 20;

    fn u16_at(&mut self, store: &Store, position: u64, end: u64) -> Result<u16, Error> {
        let found = |chunk: &Self| {
            let at = usize::try_from(position.checked_sub(chunk.start)?).ok()?;
            chunk.bytes.get(at..)?.first_chunk().copied()
        };
        if let Some(bytes) = found(self) {
            return Ok(u16::from_le_bytes(bytes));
        }
        let length = end.saturating_sub(position).min(Self::SIZE);
        // At most `Self::SIZE`.
        self.bytes.resize(usize::try_from(length).unwrap_or_default(), 0);
        self.start = position;
        store.read(&mut self.bytes, position)?;
        Ok(found(self).map_or(0, u16::from_le_bytes))
    }
}

impl Reader<'_> {
    /// Fills `buf` with what follows, from further blocks if need be.
    pub(crate) fn read(&mut self, mut buf: &mut [u8]) -> Result<(), Error> {
        while !buf.is_empty() {
            let rest = self.block.bytes.get(self.read..).unwrap_or_default();
            if rest.is_empty() {
                self.next_block()?;
                continue;
            }
            let length = rest.len().min(buf.len());
            let (now, later) = buf.split_at_mut(length);
            now.copy_from_slice(rest.get(..length).unwrap_or_default());
            self.read += length;
            buf = later;
        }
        Ok(())
    }

    fn next_block(&mut self) -> Result<(), Error> {
        self.block = self.area.block(self.store, self.block.end)?;
        self.read = 0;
        if self.block.bytes.is_empty() {
            let position = self.block.end;
            return Err(Corruption::MetadataSize { position, size: 0 }.into());
        }
        Ok(())
    }

    /// Reads a stored structure.
    pub(crate) fn get<T: FromBytes + zerocopy::IntoBytes>(&mut self) -> Result<T, Error> {
        let mut value = T::new_zeroed();
        self.read(value.as_mut_bytes())?;
        Ok(value)
    }

    /// Reads so many bytes, which the caller knows to be few.
    pub(crate) fn bytes(&mut self, length: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; length];
        self.read(&mut bytes)?;
        Ok(bytes)
    }
}
