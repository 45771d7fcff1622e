//! Defines what the ways to find earlier occurrences of a text's bytes have in common.

use std::fmt;

use super::matches::{Match, Matches};
use super::model::MAX_MATCH;
use crate::ffi::prefetch::prefetch;
use crate::lz4opt::{eight_bytes, narrow};

/// Bytes that a search loads at once: nearer to the end of the text nothing is found.
pub(super) const LOAD: usize = 8;
/// Positions that are looked up at once, so that what they need comes from memory together.
pub(super) const BLOCK: usize = 32;
/// Binary digits of the hashes of two, three and four bytes.
const NEAR_BITS: [u32; 3] = [10, 15, 16];
/// Binary digits of a mark.
pub(super) const MARK_BITS: u32 = 24;
/// As many bytes as a text may have.
const MARKS: usize = 1 << MARK_BITS;

/// Finds matches at one position of a text after another.
pub(super) trait Find: fmt::Debug + Send {
    /// Starts a text of `len` bytes, 2^24 at most, whose matches reach less than `window` bytes back.
    fn begin(&mut self, len: usize, window: usize);

    /// The long match that is followed without a search.
    fn long(&mut self) -> &mut Long;

    /// Finds the matches of a block of positions from `start` on, as far as [`LOAD`] bytes follow.
    fn find_block(&mut self, text: &[u8], start: usize, matches: &mut Matches);

    /// Finds the matches of the next positions, up to `end` or a few more, if the text has as many.
    fn find(&mut self, text: &[u8], end: usize, matches: &mut Matches) {
        let end = end.min(text.len());
        while matches.end() < end {
            let at = matches.end();
            if self.long().skips(at) || at + LOAD > text.len() {
                self.long().add_known(at, matches);
            } else {
                self.find_block(text, at, matches);
            }
        }
    }
}

/// Numbers the positions of one text after another, so that tables need not be cleared in between.
///
/// A mark is more than zero, and each is more than those before, until tables are cleared.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// One less than the mark of position zero.
    base: u32,
    last: u32,
    /// Farthest that a match reaches back.
    reach: usize,
}

impl Marks {
    /// Starts a text whose matches reach less than `window` bytes back; whether tables must be cleared.
    pub(super) fn begin(&mut self, len: usize, window: usize) -> bool {
        let is_full = self.last as usize + len >= MARKS;
        if is_full {
            self.last = 0;
        }
        self.base = self.last;
        self.reach = window.saturating_sub(1);
        is_full
    }

    /// The mark of a position, which is no less than those before.
    #[inline]
    pub(super) fn enter(&mut self, at: usize) -> u32 {
        self.last = self.base + narrow(at) + 1;
        self.last
    }

    #[inline]
    pub(super) const fn of(&self, at: usize) -> u32 {
        self.base + narrow(at) + 1
    }

    /// The position of a mark in this text, if a match at a later position reaches back to it.
    #[inline]
    pub(super) fn within_reach(&self, at: usize, mark: u32) -> Option<usize> {
        let back = self.of(at).wrapping_sub(mark) as usize;
        at.checked_sub(back).filter(|_| back <= self.reach)
    }

    pub(super) const fn reach(&self) -> usize {
        self.reach
    }
}

/// The marks of the last positions of each hash of two, three and four bytes.
#[derive(Debug)]
pub(super) struct Near([Vec<u32>; 3]);

impl Near {
    pub(super) fn new() -> Self {
        Self(NEAR_BITS.map(|bits| vec![0; 1 << bits]))
    }

    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(|marks| marks.fill(0));
    }

    fn slots(bytes: u64) -> [usize; 3] {
        let [two, three, four] = NEAR_BITS;
        [digits(hash(bytes, 2), two), digits(hash(bytes, 3), three), digits(hash(bytes, 4), four)]
    }

    /// Lets what a position with these bytes needs come from memory.
    #[inline]
    pub(super) fn prefetch(&self, bytes: u64) {
        for (marks, slot) in self.0.iter().zip(Self::slots(bytes)) {
            prefetch(marks, slot);
        }
    }

    /// Enters the mark of a position with these bytes; those that were there.
    #[inline]
    pub(super) fn replace(&mut self, bytes: u64, mark: u32) -> [u32; 3] {
        let mut old = [0; 3];
        for ((marks, slot), old) in self.0.iter_mut().zip(Self::slots(bytes)).zip(&mut old) {
            *old = marks.get_mut(slot).map_or(0, |slot| std::mem::replace(slot, mark));
        }
        old
    }
}

/// A hash of the first `count` of eight bytes, of which the high digits count most.
#[inline]
pub(super) const fn hash(bytes: u64, count: u32) -> u64 {
    (bytes << (64 - 8 * count)).wrapping_mul(0x9E37_79B1_85EB_CA87)
}

/// The highest digits of a hash.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "hashes have fewer digits than an index")]
pub(super) const fn digits(hash: u64, count: u32) -> usize {
    (hash >> (64 - count)) as usize
}

/// The matches of one position.
#[derive(Debug)]
pub(super) struct Found<'a> {
    text: &'a [u8],
    at: usize,
    /// No match is longer.
    pub(super) limit: usize,
    pub(super) longest: Match,
    matches: &'a mut Matches,
}

impl<'a> Found<'a> {
    /// Nothing yet.
    #[inline]
    pub(super) fn new(text: &'a [u8], at: usize, most: usize, matches: &'a mut Matches) -> Self {
        let longest = Match { len: 1, distance: 0 };
        Self { text, at, limit: most.min(text.len() - at), longest, matches }
    }

    /// Adds the match with an earlier position, if it is longer than those before.
    #[inline]
    pub(super) fn try_earlier(&mut self, earlier: usize) {
        let more = self.longest.len as usize;
        if self.text.get(earlier + more) == self.text.get(self.at + more) {
            self.add(earlier, common(self.text, earlier, self.at, self.limit));
        }
    }

    /// Adds a match with an earlier position, if it is longer than those before.
    #[inline]
    pub(super) fn add(&mut self, earlier: usize, len: usize) {
        if len > self.longest.len as usize {
            let distance = narrow(self.at - earlier - 1);
            self.longest = Match { len: narrow(len), distance };
            self.matches.add(self.longest);
        }
    }
}

/// A long match, which is followed as far as it goes without a search in between.
#[derive(Debug, Default)]
pub(super) struct Long {
    /// Positions before this have the match of those before them, at one less than this distance.
    end: usize,
    distance: u32,
    /// Those before this are not entered, as their texts are found where they match.
    skipped: usize,
}

impl Long {
    /// Whether a position is not even entered?
    #[inline]
    pub(super) const fn skips(&self, at: usize) -> bool {
        at < self.skipped
    }

    /// Whether the matches of a position are known?
    #[inline]
    pub(super) const fn spans(&self, at: usize) -> bool {
        at < self.end
    }

    /// Ends the next position, which has at most the one match that is known.
    pub(super) fn add_known(&self, at: usize, matches: &mut Matches) {
        let len = self.end.saturating_sub(at).min(MAX_MATCH);
        if len > 1 {
            matches.add(Match { len: narrow(len), distance: self.distance });
        }
        matches.next();
    }

    /// Ends the next position; if it has a match of `nice` bytes, lengthens it as far as it goes.
    #[inline]
    pub(super) fn end_position(&mut self, found: Found<'_>, nice: usize, reach: usize) {
        let Found { text, at, longest: Match { len, distance }, matches, .. } = found;
        if len as usize >= nice {
            let back = distance as usize + 1;
            let len = common(text, at - back, at, text.len() - at);
            matches.lengthen_last(narrow(len.min(MAX_MATCH)));
            (self.end, self.distance) = (at + len, distance);
            // What is far back would soon be found nowhere.
            if back <= reach / 2 {
                self.skipped = at + len.saturating_sub(nice);
            }
        }
        matches.next();
    }
}

/// Eight bytes, zero where the text is too short.
#[inline]
pub(super) fn load(text: &[u8], at: usize) -> u64 {
    eight_bytes(text, narrow(at)).unwrap_or(0)
}

/// How many bytes from `late` on, at most `limit`, equal those from `early` on?
#[inline]
pub(super) fn common(text: &[u8], early: usize, late: usize, limit: usize) -> usize {
    let mut len = 0;
    let (early, late) = (narrow(early), narrow(late));
    let at = |base: u32, len: usize| base.wrapping_add(narrow(len));
    while let (Some(a), Some(b)) =
        (eight_bytes(text, at(early, len)), eight_bytes(text, at(late, len)))
    {
        if a != b {
            return limit.min(len + (a ^ b).trailing_zeros() as usize / 8);
        }
        len += LOAD;
        if len >= limit {
            return limit;
        }
    }
    let rest = |from: u32| text.get(from as usize..).unwrap_or_default().iter();
    let equal = rest(at(early, len)).zip(rest(at(late, len))).take_while(|(a, b)| a == b);
    limit.min(len + equal.count())
}

/// Texts and checks for the tests of each way.
#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::lzma) fn noise(count: usize) -> impl Iterator<Item = u8> {
        let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        std::iter::successors(Some(1), next).map(|state| state.to_le_bytes()[3]).take(count)
    }

    pub(in crate::lzma) fn all(
        text: &[u8],
        finder: &mut impl Find,
        window: usize,
    ) -> Vec<Vec<Match>> {
        let mut matches = Matches::default();
        finder.begin(text.len(), window);
        matches.begin();
        finder.find(text, text.len(), &mut matches);
        (0..text.len()).map(|at| matches.at(at).to_vec()).collect()
    }

    /// Matches are equal bytes within reach, at nearly all positions of a text that repeats, whatever came before.
    pub(in crate::lzma) fn check(finder: &mut impl Find, nice: usize) {
        let text: Vec<u8> = noise(40_000).map(|byte| byte >> 6).collect();
        let first = all(&text, finder, 8192);
        let count = first.iter().filter(|found| !found.is_empty()).count();
        assert!(count > 37_000, "{count}");
        for (at, found) in first.iter().enumerate() {
            assert!(
                found.is_sorted_by(|a, b| a.len < b.len && a.distance < b.distance),
                "{found:?}"
            );
            for &Match { len, distance } in found {
                let earlier = at - distance as usize - 1;
                let is_equal =
                    (0..len as usize).all(|index| text[earlier + index] == text[at + index]);
                assert!(is_equal && distance < 8191, "{found:?}");
            }
        }
        assert!(all(&text, finder, 8192) == first);
        // So long that the marks begin anew.
        finder.begin(MARKS - 1, 4096);
        assert!(all(&text, finder, 8192) == first);
        long_matches_are_known(finder, nice);
    }

    fn long_matches_are_known(finder: &mut impl Find, nice: usize) {
        let unit: Vec<u8> = noise(500).collect();
        let text = [unit.as_slice(), b"!", &unit, &unit].concat();
        let found = all(&text, finder, 4096);
        for (at, found) in found.iter().enumerate().take(1490).skip(501) {
            let end = if at < 1001 { 1001 } else { 1501 };
            let longest = found.last().map_or(1, |longest| longest.len as usize);
            assert!(longest >= nice.min(end - at), "{at}: {longest}");
        }
    }
}
