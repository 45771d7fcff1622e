//! Defines [`Windows`]: how much is fetched at once.

use std::ops::Range;

use crate::units::UNIT;

/// Units that are fetched where nothing was read before: 128 KiB.
pub(crate) const FIRST: u64 = (128 << 10) / UNIT;
/// The most units that are fetched at once: 4 MiB.
pub(crate) const MOST: u64 = (4 << 20) / UNIT;
/// What is missing in two places that so many units separate is fetched by one request: 256 KiB.
pub(crate) const NEAR: u64 = (256 << 10) / UNIT;
/// Sequences that are followed at once.
const SEQUENCES: usize = 16;

/// The sequences in which an object is read. Each further part of one is fetched in twice as large a piece.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// The latest first.
    sequences: Vec<Sequence>,
}

#[derive(Debug)]
struct Sequence {
    /// Where it ends, in units.
    end: u64,
    /// The size of its last piece, in units.
    window: u64,
    /// Whether what follows it is requested.
    is_followed: bool,
}

impl Windows {
    /// The units to be fetched from a missing one on.
    pub(crate) fn at(&mut self, unit: u64) -> u64 {
        let continues = |found: &Sequence| (found.end..=found.end + NEAR).contains(&unit);
        let Some(found) = self.sequences.iter().position(continues) else { return FIRST };
        (self.sequences.remove(found).window * 2).min(MOST)
    }

    /// Notes what is fetched.
    pub(crate) fn note(&mut self, end: u64, window: u64) {
        let window = window.clamp(FIRST, MOST);
        self.sequences.insert(0, Sequence { end, window, is_followed: false });
        self.sequences.truncate(SEQUENCES);
    }

    /// The units to be fetched ahead of a reader that has arrived at a unit: once for each piece of a sequence of several, when
    /// half of it was read.
    pub(crate) fn ahead(&mut self, unit: u64) -> Option<Range<u64>> {
        let is_in_second_half = |found: &&mut Sequence| {
            found.window > FIRST
                && (found.end.saturating_sub(found.window / 2)..=found.end).contains(&unit)
        };
        let found = self.sequences.iter_mut().find(is_in_second_half)?;
        let end = found.end.saturating_add((found.window * 2).min(MOST));
        (!std::mem::replace(&mut found.is_followed, true)).then_some(found.end..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sequences_grow() {
        let mut windows = Windows::default();
        let mut next = 5;
        let mut found = Vec::new();
        for scattered in 0..8 {
            assert_eq!(windows.at(100_000 * (scattered + 1)), FIRST);
            windows.note(100_000 * (scattered + 1) + FIRST, FIRST);
            let window = windows.at(next);
            next += window;
            windows.note(next, window);
            found.push(window);
        }
        assert_eq!(found, [2, 4, 8, 16, 32, 64, 64, 64]);
    }

    #[test]
    fn what_follows_a_sequence_is_requested_once() {
        let mut windows = Windows::default();
        windows.note(10, FIRST);
        assert_eq!(windows.ahead(10), None, "one piece is no sequence");
        let window = windows.at(10);
        windows.note(10 + window, window);
        assert_eq!(windows.ahead(11), None);
        assert_eq!(windows.ahead(12), Some(14..22));
        assert_eq!(windows.ahead(13), None);
        assert_eq!(windows.at(14), 8);
    }
}
