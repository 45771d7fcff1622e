//! Defines [`Windows`]: how much is fetched at once.

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
    /// Where each ends and the size of its last piece, in units; the latest first.
    sequences: Vec<(u64, u64)>,
}

impl Windows {
    /// The units to be fetched from a missing one on.
    pub(crate) fn at(&mut self, unit: u64) -> u64 {
        let continues = |(end, _): &(u64, u64)| (*end..=*end + NEAR).contains(&unit);
        let Some(found) = self.sequences.iter().position(continues) else { return FIRST };
        let (_, window) = self.sequences.remove(found);
        (window * 2).min(MOST)
    }

    /// Notes what is fetched.
    pub(crate) fn note(&mut self, end: u64, window: u64) {
        self.sequences.insert(0, (end, window.clamp(FIRST, MOST)));
        self.sequences.truncate(SEQUENCES);
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
}
