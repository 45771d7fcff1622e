//! Which bytes are taken?

use std::{collections::BTreeMap, ops::Range};

/// A set of bytes as ranges that neither overlap nor touch each other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ranges {
    /// End of each range by its start.
    ends: BTreeMap<u64, u64>,
}

/// How a range relates to a set before it is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Met {
    /// No byte of it was in the set.
    Nothing,
    /// Some were.
    Part,
    /// All were.
    Whole,
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All ranges in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ends.iter().map(|(start, end)| *start..*end)
    }

    /// Adds a range; `common` gets what was in the set already, part by part.
    pub(crate) fn insert(&mut self, range: Range<u64>, mut common: impl FnMut(Range<u64>)) -> Met {
        let Range { mut start, mut end } = range;
        if start >= end {
            return Met::Nothing;
        }
        let mut found = 0;
        let mut meet = |from: u64, to: u64| {
            if from < to {
                found += to - from;
                common(from..to);
            }
        };
        if let Some((before, its_end)) = self.before(start)
            && its_end >= start
        {
            meet(start, its_end.min(range.end));
            start = before;
            end = end.max(its_end);
        }
        while let Some((next, its_end)) = self.first_within(range.start, end) {
            if next != start {
                meet(next.max(range.start), its_end.min(range.end));
            }
            end = end.max(its_end);
            self.ends.remove(&next);
        }
        self.ends.insert(start, end);
        match found {
            0 => Met::Nothing,
            _ if found == range.end - range.start => Met::Whole,
            _ => Met::Part,
        }
    }

    /// Whether any byte of a range is in the set.
    pub(crate) fn intersects(&self, range: &Range<u64>) -> bool {
        range.start < range.end
            && self.ends.range(..range.end).next_back().is_some_and(|(_, end)| *end > range.start)
    }

    /// The bytes that are in both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for range in self.iter() {
            let first = other.before(range.start).map_or(range.start, |(start, _)| start);
            for (start, end) in other.ends.range(first..range.end) {
                both.insert((*start).max(range.start)..(*end).min(range.end), |_| ());
            }
        }
        both
    }

    /// The last range that starts at or before `position`.
    fn before(&self, position: u64) -> Option<(u64, u64)> {
        self.ends.range(..=position).next_back().map(|(start, end)| (*start, *end))
    }

    /// The first range that starts from `from` to `to`, both included.
    fn first_within(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        self.ends.range(from..=to).next().map(|(start, end)| (*start, *end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of numbers, the same each time.
    fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        }
    }

    #[test]
    fn a_set_does_as_a_list_of_bytes_does() {
        let mut number = numbers(0x9e37_79b9_7f4a_7c15);
        for _ in 0..300 {
            let (mut set, mut bytes) = (Ranges::default(), [false; 100]);
            for _ in 0..40 {
                let start = number(100);
                let end = (start + number(12)).min(100);
                let indexes = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
                let expected = bytes[indexes.clone()].iter().filter(|byte| **byte).count();
                assert_eq!(set.intersects(&(start..end)), expected != 0);
                let mut common = 0;
                let met = set.insert(start..end, |range| common += range.end - range.start);
                assert_eq!(common, expected as u64);
                let whole = expected == indexes.len() && expected != 0;
                assert_eq!(met == Met::Whole, whole);
                assert_eq!(met == Met::Nothing, expected == 0);
                bytes[indexes].fill(true);
                let mut listed = [false; 100];
                let mut last = None;
                for range in set.iter() {
                    assert!(last.is_none_or(|last| last < range.start), "{set:?}");
                    last = Some(range.end);
                    range.for_each(|byte| listed[usize::try_from(byte).unwrap()] = true);
                }
                assert_eq!(listed, bytes);
            }
        }
    }

    #[test]
    fn two_sets_have_bytes_in_common() {
        let set = |ranges: &[Range<u64>]| {
            let mut set = Ranges::default();
            for range in ranges {
                set.insert(range.clone(), |_| ());
            }
            set
        };
        let (a, b) = (set(&[0..10, 20..30, 40..50]), set(&[5..25, 28..29, 30..45, 49..60]));
        assert_eq!(a.intersection(&b), set(&[5..10, 20..25, 28..29, 40..45, 49..50]));
        assert_eq!(b.intersection(&a), a.intersection(&b));
        assert!(a.intersection(&Ranges::default()).is_empty());
    }
}
