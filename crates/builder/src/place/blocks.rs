//! In which block does an inode find room?

use std::collections::VecDeque;

use lith_format::addr::{BlockBits, Nid};

/// How many of the last blocks stay open for small inodes to fill their gaps. Few enough that siblings
/// stay near each other, many enough that hardly any room is lost.
pub(crate) const OPEN_BLOCKS: usize = 64;
/// Inodes with tables of more bytes than this may lie across blocks, so that they leave no gap.
const LARGE_HEAD: u64 = 1024;
/// An inode itself should lie in one block.
const INODE_SIZE: u64 = 64;

/// Blocks that have room at their ends.
#[derive(Debug)]
pub(crate) struct OpenBlocks {
    size: u64,
    /// Free stretches at ends of blocks in ascending order; the last one may go on without end.
    free: VecDeque<u64>,
}

impl OpenBlocks {
    /// Room from byte `start` on.
    pub(crate) fn new(start: u64, block: BlockBits) -> Self {
        Self { size: block.size().into(), free: VecDeque::from([start]) }
    }

    /// The first byte behind everything.
    pub(crate) fn end(&self) -> u64 {
        self.free.back().copied().unwrap_or(0)
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
        let best = self
            .free
            .iter()
            .enumerate()
            .map(|(at, start)| (self.room(*start), at))
            .filter(|(room, _)| *room >= len)
            .min();
        let at = match best {
            Some((_, at)) => at,
            None => self.open_next(),
        };
        let Some(start) = self.free.get_mut(at) else {
            return 0;
        };
        let position = *start;
        *start = (position + len).next_multiple_of(Nid::SLOT);
        let (is_full, is_last) = (start.is_multiple_of(self.size), at + 1 == self.free.len());
        if is_full && !is_last {
            self.free.remove(at);
        }
        position
    }

    /// Behind everything else, over as many blocks as it takes.
    fn place_across(&mut self, head: u64, tail: u64) -> u64 {
        let mut position = self.end();
        let crosses = |at: u64, len: u64| at % self.size + len > self.size;
        if crosses(position, INODE_SIZE) || (tail > 0 && crosses(position + head, tail)) {
            position = position.next_multiple_of(self.size);
        }
        let end = (position + head + tail).next_multiple_of(Nid::SLOT);
        if position / self.size == self.end() / self.size {
            self.free.pop_back();
        }
        self.push(end);
        position
    }

    /// Bytes from `start` to the end of its block; none if `start` is that end.
    fn room(&self, start: u64) -> u64 {
        start.next_multiple_of(self.size) - start
    }

    fn open_next(&mut self) -> usize {
        let next = self.end().next_multiple_of(self.size);
        if next == self.end() {
            self.free.pop_back();
        }
        self.push(next);
        self.free.len() - 1
    }

    fn push(&mut self, start: u64) {
        self.free.push_back(start);
        let oldest = start.saturating_sub(OPEN_BLOCKS as u64 * self.size);
        while self.free.front().is_some_and(|free| *free < oldest) {
            self.free.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn gaps_are_filled_by_what_fits_best() {
        let mut open = OpenBlocks::new(1152, BlockBits::DEFAULT);
        assert_eq!(open.place(64, 0), 1152);
        assert_eq!(open.place(64, 3000), 4096);
        assert_eq!(open.place(64, 2000), 1216);
        assert_eq!(open.place(32, 900), 4096 + 3072);
        assert_eq!(open.place(64, 700), 1216 + 2080);
        assert_eq!(open.place(64, 8000 - 4096), 8192);
    }

    proptest! {
        #[test]
        fn places_never_overlap_and_tails_never_cross(
            records in prop::collection::vec((32u64..9000, 0u64..4096), 1..300),
        ) {
            let mut open = OpenBlocks::new(1152, BlockBits::DEFAULT);
            let mut taken = Vec::new();
            for (head, tail) in records {
                let tail = if head % 4096 + tail > 4096 { 0 } else { tail };
                let at = open.place(head, tail);
                prop_assert!(at % 32 == 0 && at >= 1152);
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
