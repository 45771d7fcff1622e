//! Chooses the time that compact inodes have.

use std::{cmp::Reverse, collections::HashMap, hash::Hash};

use lith_tree::{InodeIndex, Timestamp, Tree};

/// The time that most inodes have; of equally frequent ones the earliest. Inodes with that time can be
/// compact, since the superblock holds it for all of them.
pub(crate) fn most_frequent(tree: &Tree, order: &[InodeIndex]) -> Timestamp {
    most_of(order.iter().map(|inode| tree.get(*inode).metadata.mtime))
}

/// The time from which most inodes can count seconds in 32 bits, and how far the latest of them is. They can be
/// compact, if their nanoseconds are the most frequent ones.
pub(crate) fn base_of_most(tree: &Tree, order: &[InodeIndex]) -> (Timestamp, u32) {
    let times = order.iter().map(|inode| tree.get(*inode).metadata.mtime);
    let nsec = most_of(times.clone().map(|time| time.nsec));
    let mut seconds: Vec<i64> =
        times.filter(|time| time.nsec == nsec).map(|time| time.sec).collect();
    seconds.sort_unstable();
    let within_reach = |first: i64| {
        let last = first.saturating_add(u32::MAX.into());
        seconds.partition_point(|sec| *sec <= last)
    };
    let counts = seconds.iter().enumerate().map(|(at, first)| (within_reach(*first) - at, *first));
    let best = counts.max_by_key(|(count, first)| (*count, Reverse(*first)));
    let sec = best.map_or(0, |(_, first)| first);
    let latest = seconds.get(within_reach(sec).saturating_sub(1)).copied();
    let ahead = latest.and_then(|latest| u32::try_from(latest - sec).ok());
    (Timestamp { sec, nsec }, ahead.unwrap_or(0))
}

/// The time from which compact inodes count if the image is made at `time`, and how far that is: from the beginning of
/// 1970 if it is in reach.
pub(crate) fn base_of(time: Timestamp) -> (Timestamp, u32) {
    let sec = time.sec.saturating_sub(u32::MAX.into()).max(0).min(time.sec);
    let ahead =
        u32::try_from(time.sec.abs_diff(sec)).expect("the base is within 32 bits of the time");
    (Timestamp { sec, ..time }, ahead)
}

/// The most frequent value, of equally frequent ones the least.
fn most_of<T: Copy + Default + Ord + Hash>(values: impl Iterator<Item = T>) -> T {
    let mut counts: HashMap<T, u32> = HashMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let best = counts.into_iter().max_by_key(|(value, count)| (*count, Reverse(*value)));
    best.map_or(T::default(), |(value, _)| value)
}

#[cfg(test)]
mod tests {
    use lith_tree::{Kind, Metadata, Name};

    use super::*;

    fn tree_of(times: &[(i64, u32)]) -> (Tree, Vec<InodeIndex>) {
        let at = |(sec, nsec)| Metadata { mtime: Timestamp { sec, nsec }, ..Metadata::default() };
        let mut tree = Tree::new(at(times[0]));
        let mut order = vec![InodeIndex::ROOT];
        for (number, time) in times.iter().enumerate().skip(1) {
            let name = Name::new(number.to_string().as_bytes()).unwrap();
            order.push(tree.add(InodeIndex::ROOT, name, at(*time), Kind::Fifo).unwrap());
        }
        (tree, order)
    }

    #[test]
    fn the_most_frequent_time_wins_and_then_the_earliest() {
        let (tree, order) = tree_of(&[(9, 5), (7, 5), (-3, 5), (7, 5), (-3, 5)]);
        assert_eq!(most_frequent(&tree, &order), Timestamp { sec: -3, nsec: 5 });
    }

    #[test]
    fn the_base_is_that_from_which_most_are_in_reach() {
        let (tree, order) = tree_of(&[(1 << 33, 0), (7, 0), (u32::MAX.into(), 0), (-3, 0), (9, 4)]);
        assert_eq!(base_of_most(&tree, &order), (Timestamp { sec: -3, nsec: 0 }, 10));
        let (tree, order) = tree_of(&[(i64::MAX, 4), (1 << 32, 4), (5, 4), (i64::MIN, 0)]);
        let latest = u32::MAX - 4;
        assert_eq!(base_of_most(&tree, &order), (Timestamp { sec: 5, nsec: 4 }, latest));
    }

    #[test]
    fn a_build_time_counts_from_1970_or_as_far_before_it_as_can_be() {
        let base = |sec| {
            let (base, ahead) = base_of(Timestamp { sec, nsec: 3 });
            assert_eq!((base.sec.saturating_add(ahead.into()), base.nsec), (sec, 3));
            base.sec
        };
        assert_eq!([0, 1_700_000_000, u32::MAX.into()].map(base), [0; 3]);
        assert_eq!([-5, 1 << 33, i64::MIN].map(base), [-5, (1 << 32) + 1, i64::MIN]);
    }
}
