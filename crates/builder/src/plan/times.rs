//! Which time do compact inodes have?

use std::{cmp::Reverse, collections::HashMap};

use lith_tree::{InodeIndex, Timestamp, Tree};

/// The time that most inodes have; of equally frequent ones the earliest. Inodes with that time can be
/// compact, since the superblock holds it for all of them.
pub(crate) fn most_frequent(tree: &Tree, order: &[InodeIndex]) -> Timestamp {
    let mut counts: HashMap<Timestamp, u32> = HashMap::new();
    for inode in order {
        *counts.entry(tree.get(*inode).metadata.mtime).or_default() += 1;
    }
    let best = counts.into_iter().max_by_key(|(time, count)| (*count, Reverse(*time)));
    best.map_or(Timestamp::default(), |(time, _)| time)
}

#[cfg(test)]
mod tests {
    use lith_tree::{Kind, Metadata, Name};

    use super::*;

    #[test]
    fn the_most_frequent_time_wins_and_then_the_earliest() {
        let at = |sec| Metadata { mtime: Timestamp { sec, nsec: 5 }, ..Metadata::default() };
        let mut tree = Tree::new(at(9));
        let mut order = vec![InodeIndex::ROOT];
        for (name, sec) in [("a", 7), ("b", -3), ("c", 7), ("d", -3)] {
            let name = Name::new(name.as_bytes()).unwrap();
            order.push(tree.add(InodeIndex::ROOT, name, at(sec), Kind::Fifo).unwrap());
        }
        assert_eq!(most_frequent(&tree, &order).sec, -3);
    }
}
