//! Defines [`Span`], a range of a file with its order, and makes spans disjoint.

use std::{collections::BTreeMap, ops::Range};

/// A range of a file, in bytes, that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) range: Range<u64>,
    pub(crate) order: u64,
    pub(crate) count: u64,
}

/// The same bytes by position, without overlaps: of several spans the earliest order counts, and the sum of counts.
/// Takes time in proportion to the number of spans, however they overlap.
pub(crate) fn disjoint(spans: Vec<Span>) -> Vec<Span> {
    let mut borders: Vec<(u64, bool, u64, u64)> = Vec::with_capacity(spans.len() * 2);
    for Span { range, order, count } in spans {
        borders.push((range.start, true, order, count));
        borders.push((range.end, false, order, count));
    }
    borders.sort_unstable();
    let mut found: Vec<Span> = Vec::new();
    let mut active = Active::default();
    let mut position = 0;
    for (at, begins, order, count) in borders {
        if at > position
            && let Some((order, count)) = active.now()
        {
            push(&mut found, Span { range: position..at, order, count });
        }
        position = at;
        if begins { active.add(order, count) } else { active.remove(order, count) }
    }
    found
}

/// Adds a span after the others, as a part of the last if it continues that.
fn push(found: &mut Vec<Span>, span: Span) {
    match found.last_mut() {
        Some(last)
            if last.range.end == span.range.start
                && (last.order, last.count) == (span.order, span.count) =>
        {
            last.range.end = span.range.end;
        }
        _ => found.push(span),
    }
}

/// The spans that hold a position.
#[derive(Default)]
struct Active {
    /// How many spans there are of each order.
    orders: BTreeMap<u64, u64>,
    /// The sum of their counts; 128 bits hold it for any number of spans.
    count: u128,
}

impl Active {
    fn add(&mut self, order: u64, count: u64) {
        *self.orders.entry(order).or_default() += 1;
        self.count += u128::from(count);
    }

    fn remove(&mut self, order: u64, count: u64) {
        self.count -= u128::from(count);
        if let Some(spans) = self.orders.get_mut(&order) {
            *spans -= 1;
            if *spans == 0 {
                self.orders.remove(&order);
            }
        }
    }

    /// The earliest order, and all counts.
    fn now(&self) -> Option<(u64, u64)> {
        let (order, _) = self.orders.first_key_value()?;
        Some((*order, u64::try_from(self.count).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_as_bytes_counted_one_by_one() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..200 {
            let spans: Vec<_> = (0..random.usize(0..12))
                .map(|order| {
                    let start = random.u64(0..40);
                    let range = start..start + random.u64(1..20);
                    Span { range, order: order as u64, count: random.u64(1..5) }
                })
                .collect();
            let of = |spans: &[Span], at: u64| {
                let holding = spans.iter().filter(|span| span.range.contains(&at));
                let order = holding.clone().map(|span| span.order).min();
                order.map(|order| (order, holding.map(|span| span.count).sum::<u64>()))
            };
            let found = disjoint(spans.clone());
            assert!(found.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
            for at in 0..70 {
                assert_eq!(of(&found, at), of(&spans, at), "{spans:?}");
            }
        }
    }
}
