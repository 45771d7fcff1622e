//! Which bytes belong to what?

use std::{collections::BTreeMap, ops::Range};

use crate::FactsError;

/// Bytes as ranges that don't overlap, each of a class. A byte belongs to who claims it first.
#[derive(Clone, Debug)]
pub(crate) struct Claims<C> {
    /// End and class of each range by its start.
    ranges: BTreeMap<u64, (u64, C)>,
    /// Ranges that may still be met.
    steps: u64,
}

impl<C: Copy + Eq> Claims<C> {
    /// Nothing claimed yet. While ranges are claimed, so many others may be met in all.
    pub(crate) const fn new(steps: u64) -> Self {
        Self { ranges: BTreeMap::new(), steps }
    }

    /// The same, of which anything more may be asked.
    pub(crate) fn without_bound(self) -> Self {
        Self { steps: u64::MAX, ..self }
    }

    /// All ranges in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Range<u64>, C)> {
        self.ranges.iter().map(|(start, (end, class))| (*start..*end, *class))
    }

    /// Claims what of a range is no one's yet. Returns how many bytes that is.
    pub(crate) fn claim(&mut self, range: Range<u64>, class: C) -> Result<u64, FactsError> {
        let mut claimed = 0;
        self.claim_parts(range, class, |part| claimed += part.end - part.start)?;
        Ok(claimed)
    }

    /// As [`Self::claim`]; `part` gets what was no one's, part by part.
    pub(crate) fn claim_parts(
        &mut self,
        range: Range<u64>,
        class: C,
        mut part: impl FnMut(Range<u64>),
    ) -> Result<(), FactsError> {
        let mut at = range.start;
        if let Some((_, (end, _))) = self.ranges.range(..=at).next_back() {
            at = at.max(*end);
        }
        while at < range.end {
            self.steps =
                self.steps.checked_sub(1).ok_or(FactsError::WorkLimit { what: "extents" })?;
            let next = self.ranges.range(at..range.end).next();
            let next = next.map_or((range.end, range.end), |(start, (end, _))| (*start, *end));
            if at < next.0 {
                part(at..next.0);
                self.insert(at..next.0, class);
            }
            at = next.1;
        }
        Ok(())
    }

    /// Adds a range that touches no other but at its ends.
    fn insert(&mut self, Range { mut start, mut end }: Range<u64>, class: C) {
        if let Some((before, (its_end, its_class))) = self.ranges.range(..start).next_back()
            && (*its_end, *its_class) == (start, class)
        {
            start = *before;
        }
        if let Some((its_end, its_class)) = self.ranges.get(&end).copied()
            && its_class == class
        {
            self.ranges.remove(&end);
            end = its_end;
        }
        self.ranges.insert(start, (end, class));
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

    fn indexes(range: &Range<u64>) -> Range<usize> {
        usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()
    }

    #[test]
    fn bytes_belong_to_who_claims_them_first() {
        let mut number = numbers(0x9e37_79b9_7f4a_7c15);
        for _ in 0..300 {
            let (mut claims, mut bytes) = (Claims::new(10_000), [None; 100]);
            for _ in 0..40 {
                let (start, class) = (number(100), number(3));
                let end = (start + number(30)).min(100);
                let mut expected = 0;
                for byte in &mut bytes[indexes(&(start..end))] {
                    expected += u64::from(byte.is_none());
                    byte.get_or_insert(class);
                }
                assert_eq!(claims.claim(start..end, class).unwrap(), expected);
            }
            let mut last = (0, None);
            for (range, class) in claims.iter() {
                assert!(range.start < range.end);
                assert!(range.start > last.0 || last.1 != Some(class) || range.start == 0);
                last = (range.end, Some(class));
                for byte in &mut bytes[indexes(&range)] {
                    assert_eq!(byte.take(), Some(class));
                }
            }
            assert!(bytes.iter().all(Option::is_none));
        }
    }

    #[test]
    fn what_is_claimed_endlessly_is_refused() {
        let mut claims = Claims::new(10);
        for start in 0..10 {
            claims.claim(start * 2..start * 2 + 1, ()).unwrap();
        }
        assert!(claims.claim(0..100, ()).is_err());
    }
}
