//! Defines [`OpenBlocks`], which finds a block for each inode.

use std::collections::{BTreeMap, BTreeSet};

use lith_format::addr::{BlockBits, Nid};

/// How many of the last blocks stay open for small inodes to fill their gaps: enough that hardly any space is lost, and
/// few enough that siblings are stored within one range that is read ahead quickly.
pub(crate) const OPEN_BLOCKS: usize = 1024;
/// Inodes with larger tables, in bytes, may cross blocks, so that they leave no gap.
const LARGE_HEAD: u64 = 1024;
/// Bytes of an inode, which itself should not cross blocks.
const INODE_SIZE: u64 = 64;

/// Blocks that are free at their ends.
#[derive(Debug)]
pub(crate) struct OpenBlocks {
    size: u64,
    /// The first byte after everything.
    end: u64,
    /// A block that stays open however far the end moves: that of the superblock.
    kept: u64,
    /// Where the free part of each open block starts, by the block's number.
    starts: BTreeMap<u64, u64>,
    /// The same blocks as pairs of free bytes and their start.
    rooms: BTreeSet<(u64, u64)>,
}

impl OpenBlocks {
    /// Free space from byte `start` on, without end, and from byte `spare` to the end of its block, unless `start` is in
    /// the same block.
    pub(crate) fn new(start: u64, spare: u64, block: BlockBits) -> Self {
        let size = block.size().into();
        let (starts, rooms) = (BTreeMap::new(), BTreeSet::new());
        let mut open = Self { size, end: start, kept: spare / size, starts, rooms };
        if spare / size != start / size {
            open.open(spare);
        }
        open.open(start);
        open
    }

    /// The first byte after everything.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Finds a place for `head` bytes, directly followed by `tail` bytes that must not cross a block.
    pub(crate) fn place(&mut self, head: u64, tail: u64) -> u64 {
        let whole = head + tail;
        if whole > self.size || (tail == 0 && head > LARGE_HEAD) {
            self.place_across(head, tail)
        } else {
            self.place_within(whole)
        }
    }

    /// In the open block that it fills best, or in a new one.
    fn place_within(&mut self, len: u64) -> u64 {
        let best = self.rooms.range((len, 0)..).next().copied();
        let position = best.map_or(self.end.next_multiple_of(self.size), |(_, start)| start);
        self.close(position);
        let end = (position + len).next_multiple_of(Nid::SLOT);
        self.end = self.end.max(end);
        self.open(end);
        position
    }

    /// After everything else, over as many blocks as it takes. A tail must leave space for an inode in its block, or
    /// there may be no place.
    fn place_across(&mut self, head: u64, tail: u64) -> u64 {
        let crosses = |at: u64, len: u64| len > 0 && at % self.size + len > self.size;
        let fits = |at: &u64| !crosses(*at, INODE_SIZE.min(head)) && !crosses(*at + head, tail);
        let slots = self.size / Nid::SLOT;
        let mut positions = (0..=slots).map(|slot| self.end + slot * Nid::SLOT);
        let position = positions.find(fits).unwrap_or(self.end);
        self.close(position);
        self.end = (position + head + tail).next_multiple_of(Nid::SLOT);
        self.open(self.end);
        position
    }

    /// Opens the block that is free from `start` on, unless that is its end.
    fn open(&mut self, start: u64) {
        let room = start.next_multiple_of(self.size) - start;
        if room > 0 {
            self.starts.insert(start / self.size, start);
            self.rooms.insert((room, start));
        }
        let oldest = (self.end / self.size).saturating_sub(OPEN_BLOCKS as u64);
        while let Some((block, start)) = self.starts.range(self.kept + 1..).next()
            && *block < oldest
        {
            let start = *start;
            self.close(start);
        }
    }

    /// Closes the block of byte `at`, if it is open.
    fn close(&mut self, at: u64) {
        if let Some(start) = self.starts.remove(&(at / self.size)) {
            self.rooms.remove(&(start.next_multiple_of(self.size) - start, start));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn gaps_are_filled_by_what_fits_best() {
        let mut open = OpenBlocks::new(1152, 1152, BlockBits::DEFAULT);
        assert_eq!(open.place(64, 0), 1152);
        assert_eq!(open.place(64, 3000), 4096);
        assert_eq!(open.place(64, 2000), 1216);
        assert_eq!(open.place(32, 900), 4096 + 3072);
        assert_eq!(open.place(64, 700), 1216 + 2080);
        assert_eq!(open.place(64, 8000 - 4096), 8192);
    }

    #[test]
    fn what_lies_between_spare_and_start_stays() {
        let mut open = OpenBlocks::new(1216, 1152, BlockBits::DEFAULT);
        assert_eq!(open.place(64, 0), 1216);
        assert_eq!(open.place(64, 2700), 1280);
    }

    proptest! {
        #[test]
        fn places_never_overlap_and_tails_never_cross(
            records in prop::collection::vec((32u64..9000, 0u64..4096), 1..300),
        ) {
            let mut open = OpenBlocks::new(1152, 1152, BlockBits::DEFAULT);
            let mut taken = Vec::new();
            for (head, tail) in records {
                let tail = if tail > 4096 - 64 { 0 } else { tail };
                let at = open.place(head, tail);
                prop_assert!(at.is_multiple_of(32) && at >= 1152);
                prop_assert!(tail == 0 || (at + head) % 4096 + tail <= 4096);
                prop_assert!(at % 4096 + 64.min(head) <= 4096);
                let farthest = taken.iter().map(|(_, end)| *end).max().unwrap_or(0);
                prop_assert!(at + (OPEN_BLOCKS as u64 + 1) * 4096 >= farthest);
                taken.push((at, at + head + tail));
            }
            taken.sort_unstable();
            prop_assert!(taken.windows(2).all(|w| w[0].1 <= w[1].0));
            prop_assert!(taken.iter().all(|(_, end)| *end <= open.end().next_multiple_of(4096)));
        }
    }
}
