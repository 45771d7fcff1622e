//! Defines [`Order`]: which files and ranges of files an image stores first, and how hot they are.

use std::collections::BTreeMap;

use lith_tree::InodeIndex;

/// In which order content is stored.
///
/// Planning puts the files named here before all others; storing begins a new extent at each border between ranges of
/// different heat. Inodes and directories keep their own order.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Order {
    /// The files that come first, in this order. Names of other types, and repeated ones, are ignored.
    pub first: Vec<InodeIndex>,
    /// Ranges of files by heat, for each file in ascending order without overlaps: where a range starts in the file, in
    /// bytes, and how hot it is (0: cold). A range ends where the next one starts.
    pub heat: BTreeMap<InodeIndex, Vec<(u64, u8)>>,
}

impl Order {
    /// The order of the tree's directories.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: Vec::new(), heat: BTreeMap::new() }
    }

    /// Where a file's heat changes, in ascending order: bytes from its start.
    pub(crate) fn borders(&self, index: InodeIndex) -> impl Iterator<Item = u64> {
        let ranges = self.heat.get(&index).map_or(&[][..], |ranges| ranges);
        let changes = |pair: &[(u64, u8)]| match pair {
            [(_, before), (start, after)] if before != after => Some(*start),
            _ => None,
        };
        let first = ranges.first().filter(|(start, heat)| *start > 0 && *heat > 0);
        first.map(|(start, _)| *start).into_iter().chain(ranges.windows(2).filter_map(changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_where_the_heat_changes() {
        let mut order = Order::new();
        order.heat.insert(InodeIndex::ROOT, vec![(10, 3), (20, 3), (30, 0), (40, 1)]);
        assert_eq!(order.borders(InodeIndex::ROOT).collect::<Vec<_>>(), [10, 30, 40]);
        order.heat.insert(InodeIndex::ROOT, vec![(0, 3), (20, 0)]);
        assert_eq!(order.borders(InodeIndex::ROOT).collect::<Vec<_>>(), [20]);
        assert_eq!(Order::new().borders(InodeIndex::ROOT).count(), 0);
    }
}
