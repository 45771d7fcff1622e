//! Compares candidates with the best match so far at one position.

use super::index::{Index, MAX_DISTANCE, eight_bytes, load, narrow};

/// `len` bytes equal those `distance` before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) len: usize,
    pub(super) distance: usize,
}

/// A place in a text to find matches for.
pub(super) struct Place<'a> {
    pub(super) text: &'a [u8],
    /// Offset of the place.
    pub(super) at: usize,
    /// Where matches must end.
    end: usize,
    /// Where a match can begin at the earliest.
    low: usize,
    /// Most candidates compared in each search.
    tries: u32,
}

impl<'a> Place<'a> {
    #[inline]
    pub(super) const fn new(text: &'a [u8], at: usize, end: usize, tries: u32) -> Self {
        Self { text, at, end, low: at.saturating_sub(MAX_DISTANCE), tries }
    }

    /// Replaces `best` by a longer match, if the index has one.
    ///
    /// A longer match has all the grams of the text from here on, up to the one that ends just beyond
    /// `best`. That last one is the best to ask for: no candidate of `best`'s length is
    /// known to have it.
    #[inline]
    pub(super) fn improve<const GRAM: usize>(&self, index: &Index<GRAM>, best: &mut Match) -> bool {
        let shift = self.linked_shift::<GRAM>(best.len + 1 - GRAM);
        let wanted = Index::<GRAM>::key(load(self.text, self.at + shift));
        let mut candidate = self.at + shift;
        for _ in 0..self.tries {
            let Some(earlier) = index.earlier(candidate) else { return false };
            if earlier < self.low + shift {
                return false;
            }
            candidate = earlier;
            if Index::<GRAM>::key(load(self.text, candidate)) == wanted
                && self.accept(candidate - shift, best)
            {
                return true;
            }
        }
        false
    }

    /// The nearest shift at or before `shift` whose gram is linked to: of a run, only the beginning is.
    #[inline]
    fn linked_shift<const GRAM: usize>(&self, shift: usize) -> usize {
        let bytes = load(self.text, self.at + shift);
        let is_run = (bytes ^ (bytes >> 8)) << (64 - 8 * (GRAM - 1)) == 0;
        if !is_run {
            return shift;
        }
        let before = self.text.get(self.at..self.at + shift).unwrap_or_default();
        let [byte, ..] = bytes.to_le_bytes();
        shift - before.iter().rev().take_while(|&&other| other == byte).count()
    }

    /// Takes the candidate if it beats `best`.
    #[inline]
    fn accept(&self, candidate: usize, best: &mut Match) -> bool {
        let len = self.common(candidate);
        let better = len > best.len;
        if better {
            *best = Match { len, distance: self.at - candidate };
        }
        better
    }

    /// How many bytes from `early` on equal those of the place?
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a call for each candidate takes 1 % more instructions"
    )]
    fn common(&self, early: usize) -> usize {
        let text = self.text.get(..self.end).expect("matches end within the text");
        let (mut later, mut earlier) = (narrow(self.at), narrow(early));
        while let (Some(a), Some(b)) = (eight_bytes(text, later), eight_bytes(text, earlier)) {
            if a != b {
                let equal = (a ^ b).trailing_zeros() / 8;
                return later.wrapping_add(equal) as usize - self.at;
            }
            (later, earlier) = (later.wrapping_add(8), earlier.wrapping_add(8));
        }
        let rest = |from: u32| text.get(from as usize..).unwrap_or_default().iter();
        let equal = rest(later).zip(rest(earlier)).take_while(|(a, b)| a == b).count();
        later as usize - self.at + equal
    }
}
