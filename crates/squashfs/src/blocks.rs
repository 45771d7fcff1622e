//! Defines [`Blocks`], where the blocks of a file are.

use std::ops::Range;

use zerocopy::little_endian::U32;

use crate::{Error, metadata::Reader, stored::StoredBlock};

/// The blocks of a file that are stored; all others are holes.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// By their number in the file.
    stored: Vec<(u64, StoredBlock)>,
    /// Numbers of those that are holes.
    holes: Vec<Range<u64>>,
}

impl Blocks {
    /// Reads the list of the `count` blocks of a file that starts at a position.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        count: u64,
        start: u64,
        most: u32,
    ) -> Result<Self, Error> {
        let mut blocks = Self::default();
        let mut position = start;
        for number in 0..count {
            let word = reader.get::<U32>()?.get();
            if word == 0 {
                blocks.add_hole(number);
                continue;
            }
            let block = StoredBlock::new(position, word, most)?;
            position = position.saturating_add(block.size.into());
            blocks.stored.push((number, block));
        }
        Ok(blocks)
    }

    fn add_hole(&mut self, number: u64) {
        match self.holes.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => self.holes.push(Range { start: number, end: number + 1 }),
        }
    }

    /// A block; `None`: it is a hole.
    pub(crate) fn get(&self, number: u64) -> Option<StoredBlock> {
        let at = self.stored.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.stored.get(at).map(|(_, block)| *block)
    }

    /// The blocks from one on that are holes as it is, or none if it is not: `Err` has the number of the next hole after it.
    pub(crate) fn hole_at(&self, number: u64) -> Result<Range<u64>, Option<u64>> {
        let next = self.holes.partition_point(|hole| hole.end <= number);
        match self.holes.get(next) {
            Some(hole) if hole.start <= number => Ok(hole.clone()),
            following => Err(following.map(|hole| hole.start)),
        }
    }
}
