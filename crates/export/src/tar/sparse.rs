//! Defines [`SparseMap`], the map of a file's data in the sparse format 1.0 of GNU tar.

use std::ops::Range;

use lith_tree::{Content, ContentError, DataRange};

use super::entry::{BLOCK, padding};

/// The size from which on holes are kept; smaller ones are written as zeros. Filesystems with smaller blocks are rare.
const SMALLEST_HOLE: u64 = 4096;

/// The stretches of data in a file that has holes.
pub(super) struct SparseMap {
    size: u64,
    /// In ascending order; each starts and ends between blocks or at the end of the file.
    pub(super) data: Vec<Range<u64>>,
}

impl SparseMap {
    /// The map of a file; `None` if it has no hole that is kept.
    pub(super) fn of(content: &dyn Content, size: u64) -> Result<Option<Self>, ContentError> {
        let mut map = Self { size, data: Vec::new() };
        let mut position = 0;
        while position < size {
            let (is_data, end) = match content.range_at(position)? {
                DataRange::Data { end } => (true, end),
                DataRange::Hole { end } => (false, end),
            };
            let end = end.clamp(position.saturating_add(1), size);
            if is_data || end - position < SMALLEST_HOLE {
                map.add(position..end);
            }
            position = end;
        }
        Ok((map.stored() < size).then_some(map))
    }

    /// Adds a stretch, extended to whole blocks: GNU tar reads each stretch from a block of its own.
    fn add(&mut self, data: Range<u64>) {
        let block = BLOCK as u64;
        let start = data.start - data.start % block;
        let end = data.end.checked_next_multiple_of(block);
        let end = end.map_or(self.size, |end| end.min(self.size));
        match self.data.last_mut() {
            Some(last) if last.end >= start => last.end = end,
            _ => self.data.push(start..end),
        }
    }

    /// The map as it precedes the data: decimal numbers, each on a line, padded to whole blocks.
    pub(super) fn encode(&self) -> Vec<u8> {
        let data = self.data.iter().map(|data| (data.start, data.end - data.start));
        // An empty stretch at the end of the file marks a hole there.
        let ends_with_hole = self.data.last().is_none_or(|data| data.end < self.size);
        let last = ends_with_hole.then_some((self.size, 0));
        let count = self.data.len() + usize::from(ends_with_hole);
        let mut bytes = format!("{count}\n").into_bytes();
        for (start, length) in data.chain(last) {
            bytes.extend_from_slice(format!("{start}\n{length}\n").as_bytes());
        }
        bytes.extend_from_slice(padding(bytes.len() as u64));
        bytes
    }

    /// Bytes of data.
    pub(super) fn stored(&self) -> u64 {
        self.data.iter().map(|data| data.end - data.start).sum()
    }
}
