//! Defines a table of entries of one size, in metadata blocks whose positions are listed.

use zerocopy::{FromBytes, IntoBytes};

use crate::{Corruption, Error, Part, limits::METADATA, metadata::Area, store::Store};

/// A table whose entries are found by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    part: Part,
    /// The number of entries.
    pub(crate) count: u64,
    entry_size: usize,
    /// The positions of its metadata blocks.
    blocks: Box<[u64]>,
}

impl Table {
    /// A table without entries.
    pub(crate) fn empty(part: Part) -> Self {
        Self { part, count: 0, entry_size: 1, blocks: Box::default() }
    }

    /// Reads the positions of the blocks of a table of `count` entries of the type `T`, which are listed from `list` on.
    pub(crate) fn open<T>(store: &Store, part: Part, list: u64, count: u64) -> Result<Self, Error> {
        let entry_size = size_of::<T>();
        let blocks = count.div_ceil((METADATA / entry_size) as u64);
        let misplaced = Corruption::Table { part, start: list };
        let bytes = blocks
            .checked_mul(8)
            .filter(|bytes| list.checked_add(*bytes).is_some_and(|end| end <= store.size()));
        // The list is within the device, so that much memory is justified.
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(misplaced)?;
        let mut positions = vec![0; bytes];
        store.read(&mut positions, list)?;
        let (positions, _) = positions.as_chunks();
        let blocks = positions.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(Self { part, count, entry_size, blocks })
    }

    /// Where its first block is, if it has one.
    pub(crate) fn first_block(&self) -> Option<u64> {
        self.blocks.first().copied()
    }

    /// The entry of a number.
    pub(crate) fn get<T: FromBytes + IntoBytes>(
        &self,
        store: &Store,
        number: u64,
    ) -> Result<T, Error> {
        let (part, count) = (self.part, self.count);
        let per_block = (METADATA / self.entry_size) as u64;
        let block = usize::try_from(number / per_block).ok();
        let start = block.and_then(|block| self.blocks.get(block)).filter(|_| number < count);
        let start = *start.ok_or(Corruption::Entry { part, number, count })?;
        let offset = number % per_block * self.entry_size as u64;
        let area = Area { part, start, end: start.saturating_add(1) };
        area.read_at(store, offset)?.get()
    }
}
