//! Defines [`FirstReads`]: what of an image is read first, and how far apart it is stored.

use std::{collections::HashSet, ops::Range};

/// Whoever reads ahead reads so much: the usual window of Linux.
const WINDOW: u64 = 128 << 10;

/// What it takes to read some ranges, in this order, from an image of which nothing is in memory. Metadata is not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirstReads {
    /// Bytes of files.
    pub used: u64,
    /// Paths that the image lacks.
    pub missing: u64,
    /// The ranges of the image that hold the bytes, each once, in the order of their first use: contiguous reads.
    pub ranges: Vec<Range<u64>>,
    /// Requests of a reader that reads at least 128 KiB at once, and keeps that.
    pub ahead_requests: u64,
    /// Bytes that it reads.
    pub ahead_bytes: u64,
}

impl FirstReads {
    /// What it takes to read these ranges of an image in their order.
    pub fn new(ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        let (mut plain, mut ahead) = (Reader::default(), Reader::default());
        for range in ranges {
            plain.read(&range);
            ahead.read(&(range.start..range.end.max(range.start.saturating_add(WINDOW))));
        }
        Self {
            ahead_requests: ahead.requests.len() as u64,
            ahead_bytes: sum(&ahead.requests),
            ranges: plain.requests,
            ..Self::default()
        }
    }

    /// Bytes of the image that hold what is used, in whole blocks of 4 KiB.
    #[must_use]
    pub fn stored(&self) -> u64 {
        sum(&self.ranges)
    }

    /// Contiguous reads.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.ranges.len() as u64
    }

    /// How many of these start elsewhere than the one before ended.
    #[must_use]
    pub fn seeks(&self) -> u64 {
        self.requests().saturating_sub(1)
    }

    /// Bytes between the end of each and the start of the next.
    #[must_use]
    pub fn distance(&self) -> u64 {
        let pairs = self.ranges.iter().zip(self.ranges.iter().skip(1));
        pairs.map(|(one, next)| one.end.abs_diff(next.start)).fold(0, u64::saturating_add)
    }
}

fn sum(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// Reads what was not read before.
#[derive(Debug, Default)]
struct Reader {
    /// The blocks that were read, by their numbers.
    known: HashSet<u64>,
    requests: Vec<Range<u64>>,
}

impl Reader {
    const BLOCK: u64 = 4096;

    fn read(&mut self, range: &Range<u64>) {
        for block in range.start / Self::BLOCK..range.end.div_ceil(Self::BLOCK) {
            if !self.known.insert(block) {
                continue;
            }
            let block = block * Self::BLOCK..(block + 1) * Self::BLOCK;
            match self.requests.last_mut() {
                Some(last) if last.end == block.start => last.end = block.end,
                _ => self.requests.push(block),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_next_to_each_other_is_one_request() {
        let reads = [0..4096, 4096..8192, 4096..8192, 40960..40961, 8192..12288];
        let reads = FirstReads::new(reads);
        assert_eq!(reads.ranges, [0..8192, 40960..45056, 8192..12288]);
        assert_eq!((reads.stored(), reads.requests(), reads.seeks()), (4 * 4096, 3, 2));
        assert_eq!(reads.distance(), 32_768 + 36_864);
        assert_eq!((reads.ahead_bytes, reads.ahead_requests), ((128 << 10) + 40_960, 1));
        assert_eq!(FirstReads::new([]), FirstReads::default());
    }
}
