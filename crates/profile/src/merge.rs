//! Merges profiles by weight.

use std::{collections::BTreeMap, ops::Range};

use crate::profile::{Access, Entry, Profile};

/// A profile, and how much it counts beside others.
#[derive(Debug, Clone, Copy)]
pub struct Weighted<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Its weight, from 1 on.
    pub weight: u32,
}

/// Where something stands in all profiles that have it.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    weights: u128,
    /// The sum of its orders by weight.
    orders: u128,
    counts: u128,
}

impl Sum {
    fn of(entry: &Entry, weight: u32) -> Self {
        let weight = u128::from(weight);
        let [orders, counts] = [entry.order, entry.count].map(|number| u128::from(number) * weight);
        Self { weights: weight, orders, counts }
    }

    const fn add(&mut self, other: Self) {
        self.weights += other.weights;
        self.orders += other.orders;
        self.counts += other.counts;
    }

    const fn subtract(&mut self, other: Self) {
        self.weights -= other.weights;
        self.orders -= other.orders;
        self.counts -= other.counts;
    }

    /// The mean order, in thousandths, and all counts by weight.
    fn into_place(self) -> (u64, u64) {
        let mean = self.orders.saturating_mul(1000) / self.weights.max(1);
        let limited = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
        (limited(mean), limited(self.counts))
    }
}

/// One profile of several: what they have in common stands where it does on average, by their weights, and was used as often
/// as in all of them.
#[must_use]
pub fn merge(profiles: &[Weighted<'_>]) -> Profile {
    let mut names: BTreeMap<(&[u8], &Access), Sum> = BTreeMap::new();
    let mut reads: BTreeMap<&[u8], Vec<(Range<u64>, Sum)>> = BTreeMap::new();
    for Weighted { profile, weight } in profiles {
        let numbered = (*profile).clone().numbered();
        for (entry, place) in profile.entries().iter().zip(numbered.entries()) {
            let sum = Sum::of(&Entry { count: entry.count, ..place.clone() }, (*weight).max(1));
            match entry.access {
                Access::Read { start, end } => {
                    reads.entry(&entry.path).or_default().push((start..end, sum));
                }
                _ => names.entry((&entry.path, &entry.access)).or_default().add(sum),
            }
        }
    }
    let entry = |path: &[u8], access: Access, sum: Sum| {
        let (order, count) = sum.into_place();
        Entry { path: path.to_vec(), access, order, count }
    };
    let of_names = names.into_iter().map(|((path, access), sum)| entry(path, access.clone(), sum));
    let mut entries: Vec<_> = of_names.collect();
    for (path, ranges) in reads {
        let summed = summed(&ranges).into_iter();
        entries.extend(
            summed.map(|(Range { start, end }, sum)| entry(path, Access::Read { start, end }, sum)),
        );
    }
    Profile::new(entries).numbered()
}

/// Disjoint ranges with the sums of all that hold them.
fn summed(ranges: &[(Range<u64>, Sum)]) -> Vec<(Range<u64>, Sum)> {
    let starts = ranges.iter().map(|(range, sum)| (range.start, true, sum));
    let ends = ranges.iter().map(|(range, sum)| (range.end, false, sum));
    let mut borders: Vec<_> = starts.chain(ends).collect();
    borders.sort_by_key(|(at, begins, _)| (*at, *begins));
    let (mut found, mut now, mut position) = (Vec::new(), Sum::default(), 0);
    for (at, begins, sum) in borders {
        if at > position && now.weights > 0 {
            found.push((position..at, now));
        }
        position = at;
        if begins { now.add(*sum) } else { now.subtract(*sum) }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(lines: &str) -> Profile {
        Profile::read(format!("{}\n{lines}", crate::text::HEADER).as_bytes()).unwrap()
    }

    fn merged(profiles: &[(&Profile, u32)]) -> Vec<String> {
        let weighted =
            profiles.iter().map(|(profile, weight)| Weighted { profile, weight: *weight });
        let text = merge(&weighted.collect::<Vec<_>>()).to_string();
        text.lines().skip(2).map(str::to_owned).collect()
    }

    #[test]
    fn the_mean_order_by_weight_decides() {
        let one = profile("read /a 0+10 1 1\nread /b 0+10 2 1\nlookup /c - 3 1");
        let other = profile("read /b 5+10 1 1\nread /a 0+10 2 1\nlist /c - 3 1");
        assert_eq!(
            merged(&[(&one, 3), (&other, 1)]),
            [
                "read /b 10+5 1 1",
                "read /a 0+10 2 4",
                "read /b 5+5 3 4",
                "read /b 0+5 4 3",
                "lookup /c - 5 3",
                "list /c - 6 1"
            ]
        );
        assert_eq!(merged(&[(&one, 1)]), one.to_string().lines().skip(2).collect::<Vec<_>>());
        assert!(merged(&[]).is_empty());
    }

    #[test]
    fn hostile_numbers_are_no_burden() {
        let many =
            profile("read /a 0+18446744073709551615 18446744073709551615 18446744073709551615");
        let found = merged(&[(&many, u32::MAX), (&many, u32::MAX)]);
        assert_eq!(found, [format!("read /a 0+{} 1 {}", u64::MAX, u64::MAX)]);
    }
}
