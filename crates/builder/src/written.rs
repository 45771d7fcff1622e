//! Defines [`Written`]: which bytes of a block device an image has taken, since those between keep what was there before.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Ranges of bytes, of which none touch each other.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The end of each range by its start.
    ends: Mutex<BTreeMap<u64, u64>>,
}

impl Written {
    /// Adds a range.
    pub(crate) fn add(&self, Range { mut start, mut end }: Range<u64>) {
        let mut ends = self.lock();
        if let Some((before, its_end)) = ends.range(..=start).next_back()
            && *its_end >= start
        {
            (start, end) = (*before, end.max(*its_end));
        }
        while let Some((after, its_end)) = ends.range(start..=end).next() {
            let after = *after;
            end = end.max(*its_end);
            ends.remove(&after);
        }
        if start < end {
            ends.insert(start, end);
        }
    }

    /// Removes all bytes from `end` on.
    pub(crate) fn cut(&self, end: u64) {
        let mut ends = self.lock();
        drop(ends.split_off(&end));
        if let Some(mut last) = ends.last_entry() {
            let cut = end.min(*last.get());
            last.insert(cut);
        }
    }

    /// What is not in any range.
    pub(crate) fn gaps(&self, within: Range<u64>) -> Vec<Range<u64>> {
        let mut next = within.start;
        let mut gaps = Vec::new();
        let ends = self.lock();
        for (start, end) in &*ends {
            if next < (*start).min(within.end) {
                gaps.push(next..(*start).min(within.end));
            }
            next = next.max(*end);
        }
        if next < within.end {
            gaps.push(next..within.end);
        }
        gaps
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        // No thread that panics leaves a half-made change.
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_was_not_added() {
        let written = Written::default();
        assert_eq!(written.gaps(2..9), vec![Range { start: 2, end: 9 }]);
        for range in [10..20, 30..40, 20..25, 5..5, 38..50, 60..70, 8..12] {
            written.add(range);
        }
        assert_eq!(written.gaps(0..80), [0..8, 25..30, 50..60, 70..80]);
        assert_eq!(written.gaps(9..65), [25..30, 50..60]);
        assert_eq!(written.gaps(26..28), vec![Range { start: 26, end: 28 }]);
        written.add(0..55);
        assert_eq!(written.gaps(0..80), [55..60, 70..80]);
        written.cut(64);
        assert_eq!(written.gaps(0..80), [55..60, 64..80]);
        written.cut(57);
        assert_eq!(written.gaps(0..80), vec![Range { start: 55, end: 80 }]);
        written.cut(0);
        assert_eq!(written.gaps(0..3), vec![Range { start: 0, end: 3 }]);
    }
}
