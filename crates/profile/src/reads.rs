//! Defines [`Scatter`]: how far apart an image stores what is read together.

use std::{collections::HashSet, ops::Range};

use crate::{
    locations::Locations,
    profile::{Access, Profile},
};

/// Whoever reads ahead reads so much: the usual window of Linux.
const WINDOW: u64 = 128 << 10;

/// What it takes to read what a profile names, in its order, from an image of which nothing is in memory. Metadata is not
/// counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scatter {
    /// Bytes of files.
    pub used: u64,
    /// Bytes of the image that hold them, each once.
    pub stored: u64,
    /// Contiguous reads in the order of the profile.
    pub requests: u64,
    /// How many of these start elsewhere than the one before ended.
    pub seeks: u64,
    /// Bytes between the end of each and the start of the next.
    pub distance: u64,
    /// Requests of a reader that reads at least 128 KiB at once, and keeps that.
    pub ahead_requests: u64,
    /// Bytes that it reads.
    pub ahead_bytes: u64,
    /// Paths that the image lacks.
    pub missing: u64,
}

impl Scatter {
    /// How scattered an image is under a profile.
    #[must_use]
    pub fn new(profile: &Profile, locations: &Locations) -> Self {
        let mut found = Self::default();
        let mut missing = HashSet::new();
        let (mut plain, mut ahead) = (Reader::default(), Reader::default());
        for entry in profile.entries() {
            let Some(size) = locations.size(&entry.path) else {
                missing.insert(&entry.path);
                continue;
            };
            let Access::Read { start, end } = entry.access else { continue };
            let range = start..end.min(size);
            if range.is_empty() {
                continue;
            }
            found.used += range.end - range.start;
            for stored in locations.stored(&entry.path, &range) {
                plain.read(stored.clone());
                ahead.read(stored.start..stored.end.max(stored.start.saturating_add(WINDOW)));
            }
        }
        found.missing = missing.len() as u64;
        (found.stored, found.requests) = (plain.bytes, plain.requests);
        (found.seeks, found.distance) = (plain.requests.saturating_sub(1), plain.distance);
        (found.ahead_bytes, found.ahead_requests) = (ahead.bytes, ahead.requests);
        found
    }
}

/// Reads what was not read before.
#[derive(Debug, Default)]
struct Reader {
    /// The blocks that were read, by their numbers.
    known: HashSet<u64>,
    end: Option<u64>,
    bytes: u64,
    requests: u64,
    distance: u64,
}

impl Reader {
    const BLOCK: u64 = 4096;

    fn read(&mut self, range: Range<u64>) {
        for block in range.start / Self::BLOCK..range.end.div_ceil(Self::BLOCK) {
            if !self.known.insert(block) {
                continue;
            }
            let start = block * Self::BLOCK;
            self.bytes += Self::BLOCK;
            if self.end != Some(start) {
                self.requests += 1;
                self.distance += self.end.map_or(0, |end| end.abs_diff(start));
            }
            self.end = Some(start + Self::BLOCK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_next_to_each_other_is_one_request() {
        let mut reader = Reader::default();
        for range in [0..4096, 4096..8192, 4096..8192, 40960..40961, 8192..12288] {
            reader.read(range);
        }
        assert_eq!((reader.bytes, reader.requests), (4 * 4096, 3));
        assert_eq!(reader.distance, 32_768 + 36_864);
    }
}
