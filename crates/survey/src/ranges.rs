//! Defines [`RangeMap`], which records whose the bytes of a device are, and [`RangeSet`], which records bytes only.

use std::{collections::BTreeMap, ops::Range};

/// Byte ranges that don't overlap, each of a class. A byte keeps the class that it got first; adjacent ranges of one
/// class are merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangeMap<C> {
    /// End and class of each range by its start.
    ranges: BTreeMap<u64, (u64, C)>,
}

/// A set of bytes.
pub type RangeSet = RangeMap<()>;

/// A part of a range that is added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// Bytes that were in no range before.
    New(Range<u64>),
    /// Bytes of one range that was added before.
    Known(Range<u64>),
}

impl<C> Default for RangeMap<C> {
    fn default() -> Self {
        Self { ranges: BTreeMap::new() }
    }
}

impl<C: Copy + Eq> RangeMap<C> {
    /// Whether no byte is in a range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// All ranges with their classes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, C)> {
        self.ranges.iter().map(|(start, (end, class))| (*start..*end, *class))
    }

    /// Adds those bytes of `range` that are in no range yet, as `class`; returns their number. `part` gets the parts of
    /// `range` in order.
    pub fn add(&mut self, range: Range<u64>, class: C, mut part: impl FnMut(Part)) -> u64 {
        let (mut at, mut new) = (range.start, 0);
        while at < range.end {
            let (start, end) = self.next_range(at, range.end);
            if at < start {
                part(Part::New(at..start));
                new += start - at;
                self.insert(at..start, class);
            }
            let known = start.max(at)..end.min(range.end);
            if !known.is_empty() {
                part(Part::Known(known));
            }
            at = end;
        }
        new
    }

    /// Whether any byte of `range` is in a range.
    #[must_use]
    pub fn intersects(&self, range: &Range<u64>) -> bool {
        let mut before = self.ranges.range(..range.end);
        range.start < range.end
            && before.next_back().is_some_and(|(_, (end, _))| *end > range.start)
    }

    /// The first range that ends after `at` and starts before `limit`; an empty one at `limit` if there is none.
    fn next_range(&self, at: u64, limit: u64) -> (u64, u64) {
        let ending_after = |(_, (end, _)): &(&u64, &(u64, C))| *end > at;
        let around = self.ranges.range(..=at).next_back().filter(ending_after);
        let next = around.or_else(|| self.ranges.range(at..limit).next());
        next.map_or((limit, limit), |(start, (end, _))| (*start, *end))
    }

    /// Adds a range that touches others at its ends at most.
    fn insert(&mut self, Range { start, mut end }: Range<u64>, class: C) {
        if let Some((its_end, its_class)) = self.ranges.get(&end).copied()
            && its_class == class
        {
            self.ranges.remove(&end);
            end = its_end;
        }
        match self.ranges.range_mut(..start).next_back() {
            Some((_, (its_end, its_class))) if (*its_end, *its_class) == (start, class) => {
                *its_end = end;
            }
            _ => {
                self.ranges.insert(start, (end, class));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deterministic generator of numbers.
    fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        }
    }

    fn indexes(range: &Range<u64>) -> Range<usize> {
        usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()
    }

    /// Adds a range of a class to a map and to a list of bytes, and compares what both report.
    fn add(map: &mut RangeMap<u64>, bytes: &mut [Option<u64>], range: Range<u64>, class: u64) {
        let known = bytes[indexes(&range)].iter().flatten().count() as u64;
        assert_eq!(map.intersects(&range), known != 0);
        let mut at = range.start;
        let new = map.add(range.clone(), class, |part| {
            let (range, is_known) = match part {
                Part::New(range) => (range, false),
                Part::Known(range) => (range, true),
            };
            assert!(range.start == at && range.end > at, "parts tile the range in order");
            assert!(bytes[indexes(&range)].iter().all(|byte| byte.is_some() == is_known));
            at = range.end;
        });
        assert!(at == range.end);
        assert_eq!(new, range.end - range.start - known);
        for byte in &mut bytes[indexes(&range)] {
            byte.get_or_insert(class);
        }
    }

    fn assert_is(map: &RangeMap<u64>, bytes: &[Option<u64>]) {
        let (mut listed, mut last) = (vec![None; bytes.len()], (0, None));
        for (range, class) in map.iter() {
            assert!(range.start < range.end);
            let is_merged = range.start > last.0 || last.1 != Some(class);
            assert!(is_merged || range.start == 0, "{map:?}");
            last = (range.end, Some(class));
            listed[indexes(&range)].fill(Some(class));
        }
        assert_eq!(listed, bytes);
    }

    #[test]
    fn a_map_does_as_a_list_of_bytes_does() {
        let mut number = numbers(0x9e37_79b9_7f4a_7c15);
        for classes in [1, 3] {
            for _ in 0..300 {
                let (mut map, mut bytes) = (RangeMap::default(), [None; 100]);
                for _ in 0..40 {
                    let (start, class) = (number(100), number(classes));
                    let end = (start + number(30)).min(100);
                    add(&mut map, &mut bytes, start..end, class);
                    assert_is(&map, &bytes);
                }
            }
        }
    }
}
