//! Defines [`Runs`]: where the blocks of a file are, from which its chunk table is made.

use lith_format::{
    addr::Blkaddr,
    chunk::{Chunk, ChunkError, ChunkFormat},
};

use crate::ChunkForm;

/// Blocks of a file that are contiguous on a device, or a hole.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: Chunk,
    blocks: u64,
}

impl Run {
    /// The address of the run's block of that number.
    fn at(&self, number: u64) -> Chunk {
        let start = self.first.start.map(|start| Blkaddr(start.0.saturating_add(number)));
        Chunk { start, ..self.first }
    }
}

/// Which granules of a file are holes, in stretches of either kind.
#[derive(Debug, Default)]
pub(crate) struct Granules(Vec<(bool, u64)>);

impl Granules {
    /// Adds the next `count` granules.
    pub(crate) fn push(&mut self, is_hole: bool, count: u64) {
        match self.0.last_mut() {
            Some((last, counted)) if *last == is_hole => *counted += count,
            _ => self.0.push((is_hole, count)),
        }
    }

    /// Adds the next granules.
    pub(crate) fn extend(&mut self, holes: &[bool]) {
        for is_hole in holes {
            self.push(*is_hole, 1);
        }
    }

    /// Whether some are holes.
    pub(crate) fn has_holes(&self) -> bool {
        self.0.iter().any(|(is_hole, _)| *is_hole)
    }
}

/// Where all blocks of a file are.
#[derive(Debug, Default)]
pub(crate) struct Runs(Vec<Run>);

impl Runs {
    /// The blocks of a file whose granules, of `granule` blocks each, are holes or consecutive from block `start` on.
    pub(crate) fn of_holes(holes: &Granules, granule: u64, start: u64) -> Self {
        let mut runs = Self::default();
        let mut next = start;
        for (is_hole, count) in &holes.0 {
            let blocks = granule.saturating_mul(*count);
            if *is_hole {
                runs.push(Chunk::HOLE, blocks);
            } else {
                runs.push(Chunk { device: 0, start: Some(Blkaddr(next)) }, blocks);
                next += blocks;
            }
        }
        runs
    }

    /// Adds the next blocks of the file.
    pub(crate) fn push(&mut self, first: Chunk, blocks: u64) {
        match self.0.last_mut() {
            Some(last) if last.at(last.blocks) == first => last.blocks += blocks,
            _ => self.0.push(Run { first, blocks }),
        }
    }

    /// Whether there are no blocks.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some blocks are holes.
    pub(crate) fn has_holes(&self) -> bool {
        self.0.iter().any(|run| run.first.start.is_none())
    }

    /// The logarithm of blocks in a chunk: the largest that does not mix runs, and no more than the file has.
    fn bits(&self) -> u8 {
        let blocks: u64 = self.0.iter().map(|run| run.blocks).sum();
        let enough = blocks.next_power_of_two().trailing_zeros();
        let inner = self.0.split_last().map_or(&[][..], |(_, inner)| inner);
        let uniform = inner.iter().map(|run| run.blocks.trailing_zeros()).min();
        let bits = enough.min(uniform.unwrap_or(enough));
        u8::try_from(bits).expect("64 bits at most").min(ChunkFormat::MAX_BITS)
    }

    /// How many entries the table has.
    pub(crate) fn entries(&self) -> u64 {
        let bits = self.bits();
        self.0.iter().map(|run| run.blocks.div_ceil(1 << bits)).fold(0, u64::saturating_add)
    }

    /// Encodes the table.
    ///
    /// # Errors
    /// The form has no room for a device or an address.
    pub(crate) fn encode(&self, form: ChunkForm) -> Result<(ChunkFormat, Vec<u8>), ChunkError> {
        let bits = self.bits();
        let last = |run: &Run| run.at(run.blocks).start;
        let is_far = self.0.iter().filter_map(last).any(|end| end.0 > u32::MAX.into());
        let names_device = self.0.iter().any(|run| run.first.device != 0);
        let indexes = match form {
            ChunkForm::Smallest => is_far || names_device,
            ChunkForm::BlockMap => false,
            ChunkForm::Indexes => true,
        };
        let unknown = ChunkError::UnknownFormat { format: bits.into() };
        let format = ChunkFormat::new(bits, indexes, is_far && indexes).ok_or(unknown)?;
        let mut table = Vec::new();
        for run in &self.0 {
            for number in (0..run.blocks).step_by(1 << bits) {
                run.at(number).encode_into(format, &mut table)?;
            }
        }
        Ok((format, table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(runs: &Runs) -> (u8, Vec<Option<u64>>) {
        let (format, table) = runs.encode(ChunkForm::Smallest).unwrap();
        let chunks = table.chunks(format.unit()).map(|entry| Chunk::parse(format, entry).unwrap());
        (format.bits(), chunks.map(|chunk| chunk.start.map(|start| start.0)).collect())
    }

    fn with_holes(holes: &[bool], granule: u64) -> (u8, Vec<Option<u64>>) {
        let mut granules = Granules::default();
        granules.extend(holes);
        table(&Runs::of_holes(&granules, granule, 100))
    }

    fn at(device: u16, start: u64) -> Chunk {
        Chunk { device, start: Some(Blkaddr(start)) }
    }

    #[test]
    fn chunks_grow_as_far_as_they_stay_uniform() {
        let (h, d) = (true, false);
        assert_eq!(with_holes(&[h, d, h], 1), (0, vec![None, Some(100), None]));
        assert_eq!(with_holes(&[h, h, d, d, d, d], 1), (1, vec![None, Some(100), Some(102)]));
        assert_eq!(with_holes(&[h, h, d, d, d], 4), (3, vec![None, Some(100), Some(108)]));
        assert_eq!(with_holes(&[h; 5], 1), (3, vec![None]));
        assert_eq!(with_holes(&[h], 1), (0, vec![None]));
    }

    #[test]
    fn contiguous_blocks_become_one_chunk() {
        let mut runs = Runs::default();
        (0..6).for_each(|number| runs.push(at(0, 7 + 4 * number), 4));
        assert_eq!(table(&runs), (5, vec![Some(7)]));
        runs.push(at(0, 7), 3);
        assert_eq!(table(&runs), (3, vec![Some(7), Some(15), Some(23), Some(7)]));
        assert!(!runs.has_holes());
    }

    #[test]
    fn devices_and_far_addresses_need_indexes() {
        let format = |chunk, form| {
            let mut runs = Runs::default();
            runs.push(chunk, 5);
            runs.encode(form).map(|(format, _)| (format.indexes(), format.wide()))
        };
        assert_eq!(format(at(0, 1), ChunkForm::Smallest), Ok((false, false)));
        assert_eq!(format(at(0, 1), ChunkForm::Indexes), Ok((true, false)));
        assert_eq!(format(at(2, 1), ChunkForm::Smallest), Ok((true, false)));
        assert_eq!(format(at(0, u32::MAX.into()), ChunkForm::Smallest), Ok((true, true)));
        assert!(format(at(2, 1), ChunkForm::BlockMap).is_err());
        assert!(format(at(0, u32::MAX.into()), ChunkForm::BlockMap).is_err());
    }

    #[test]
    fn the_longest_runs_take_more_chunks_than_one() {
        let mut runs = Runs::default();
        runs.push(at(1, 0), 5 << 31);
        let (bits, starts) = table(&runs);
        assert_eq!((bits, starts.len(), starts[4]), (31, 5, Some(4 << 31)));
    }
}
