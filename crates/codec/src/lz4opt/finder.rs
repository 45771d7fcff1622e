//! Finds the earlier position that has the most bytes in common with this one.

use super::index::Index;
use super::place::{Match, Place};

/// Shortest match that LZ4 can express.
pub(super) const MIN_MATCH: usize = 4;
/// Matches of so many bytes and more have indexes of their own.
const MIDDLE: usize = 5;
const LONG: usize = 8;
/// Positions entered at once, beyond what is needed.
const AHEAD: usize = 128;

/// Finds the longest match at any place of one text after another.
#[derive(Debug)]
pub(super) struct Finder {
    short: Index<MIN_MATCH>,
    middle: Index<MIDDLE>,
    long: Index<LONG>,
    /// Most candidates compared in each search.
    tries: u32,
    /// A match this long is good enough.
    nice: usize,
    /// Positions before this are in the indexes.
    entered: usize,
}

impl Finder {
    pub(super) fn new(tries: u32, nice: usize) -> Self {
        let (short, middle, long) = (Index::new(), Index::new(), Index::new());
        Self { short, middle, long, tries, nice, entered: 0 }
    }

    /// Starts a new text, of which about `span` bytes will be searched.
    pub(super) fn begin(&mut self, text: &[u8], span: usize) {
        self.short.begin(text, span);
        self.middle.begin(text, span);
        self.long.begin(text, span);
        self.entered = 0;
    }

    /// The longest match at `at` that has at least `need` bytes and ends at or before `end`.
    ///
    /// At least 12 bytes must follow `at`, and 5 `end`.
    #[inline]
    pub(super) fn longest(
        &mut self,
        text: &[u8],
        at: usize,
        need: usize,
        end: usize,
    ) -> Option<Match> {
        self.enter_until(text, at + need);
        let place = Place::new(text, at, end, self.tries);
        let mut best = Match { len: need - 1, distance: 0 };
        if need == MIN_MATCH && !place.improve(&self.short, &mut best) {
            return None;
        }
        while best.len < self.nice && at + best.len < end && self.improve(&place, &mut best) {}
        (best.distance != 0).then_some(best)
    }

    #[inline]
    fn improve(&mut self, place: &Place<'_>, best: &mut Match) -> bool {
        if best.len + 1 < LONG {
            place.improve(&self.middle, best)
        } else {
            self.enter_until(place.text, place.at + best.len);
            place.improve(&self.long, best)
        }
    }

    /// The distance of `len` bytes like those at `at`.
    pub(super) fn repeat(&mut self, text: &[u8], at: usize, len: usize) -> Option<usize> {
        self.enter_until(text, at + 1);
        let mut best = Match { len: len - 1, distance: 0 };
        let place = Place::new(text, at, at + len, self.tries);
        place.improve(&self.short, &mut best).then_some(best.distance)
    }

    /// Enters at least the positions before `end`.
    #[inline]
    fn enter_until(&mut self, text: &[u8], end: usize) {
        if end > self.entered {
            self.enter(text, end + AHEAD);
        }
    }

    fn enter(&mut self, text: &[u8], end: usize) {
        self.short.enter_until(text, end);
        self.middle.enter_until(text, end);
        self.long.enter_until(text, end);
        self.entered = end;
    }
}
