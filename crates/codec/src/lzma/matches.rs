//! Defines the matches of a stretch of text.

use crate::lz4opt::narrow;

/// Bytes that are the same as others before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) len: u32,
    /// One less than how far back the others are.
    pub(super) distance: u32,
}

/// The matches at each position of a stretch: the nearest one of each length, longer ones after shorter ones.
#[derive(Debug, Default)]
pub(super) struct Matches {
    all: Vec<Match>,
    /// Where those of each position end.
    ends: Vec<u32>,
    /// The first position.
    first: usize,
}

/// Positions that are forgotten at once.
const STRETCH: usize = 8192;

impl Matches {
    /// Starts at position zero.
    pub(super) fn begin(&mut self) {
        self.all.clear();
        self.ends.clear();
        self.ends.push(0);
        self.first = 0;
    }

    /// The first position whose matches are unknown.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.first + self.ends.len() - 1
    }

    /// Adds a match that is longer than those before, in place of those that are no nearer.
    #[inline]
    pub(super) fn add(&mut self, found: Match) {
        let start = self.ends.last().map_or(0, |&start| start as usize);
        while let Some(last) = self.all.get(start..).and_then(<[Match]>::last)
            && last.distance >= found.distance
        {
            self.all.pop();
        }
        self.all.push(found);
    }

    /// The longest match of the last position that was ended.
    #[inline]
    pub(super) fn longest_before(&self) -> Option<Match> {
        let &[start, end] = self.ends.last_chunk()?;
        self.all.get(start as usize..end as usize)?.last().copied()
    }

    /// Gives the last match that was added another length.
    pub(super) fn lengthen_last(&mut self, len: u32) {
        if let Some(last) = self.all.last_mut() {
            last.len = len;
        }
    }

    /// All matches of the next position were added.
    #[inline]
    pub(super) fn next(&mut self) {
        self.ends.push(narrow(self.all.len()));
    }

    /// The matches of a known position that is not forgotten.
    #[inline]
    pub(super) fn at(&self, position: usize) -> &[Match] {
        let index = position - self.first;
        let bounds = self.ends.get(index..index + 2);
        let &[start, end] = bounds.and_then(|bounds| bounds.first_chunk()).expect("is known");
        self.all.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Forgets positions before `position`, when they are many.
    pub(super) fn forget(&mut self, position: usize) {
        let count = position.min(self.end()) - self.first;
        if count < STRETCH {
            return;
        }
        let start = self.ends.get(count).copied().unwrap_or(0);
        self.all.drain(..start as usize);
        self.ends.drain(..count);
        for end in &mut self.ends {
            *end -= start;
        }
        self.first += count;
    }
}
