//! Defines [`Hot`], the ranges of files that are stored first.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use lith_format::addr::BlockBits;
use lith_tree::{InodeIndex, Kind};

use crate::Input;

/// Ranges of a file with less between them are stored as one: to read that much more costs less than another request.
const GAP: u64 = 32 << 10;
/// As long as less than that is read meanwhile. A large program uses nearly all of itself in the end: as one range, what it needs
/// at once would come after what it needs seconds later, and it would wait for both.
const MEANWHILE: u64 = 2 << 20;

/// A range of a file in whole blocks, or up to the file's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HotRange {
    pub(crate) inode: InodeIndex,
    pub(crate) range: Range<u64>,
}

/// The ranges of files that are stored first.
#[derive(Debug, Default)]
pub(crate) struct Hot {
    /// In the order in which they are stored, without overlaps.
    pub(crate) ranges: Vec<HotRange>,
    /// The numbers of each file's ranges.
    by_file: HashMap<InodeIndex, Vec<usize>>,
}

impl Hot {
    /// The ranges that [`crate::Order`] names, in whole blocks; those of a file that are close to each other, and used at about
    /// the same time, as one.
    pub(super) fn new(input: Input<'_>, block: BlockBits) -> Self {
        let mut files: BTreeMap<InodeIndex, Vec<Stretch>> = BTreeMap::new();
        let mut read = 0_u64;
        for (rank, (inode, range)) in input.order.ranges.iter().enumerate() {
            if let Some(range) = in_blocks(input, *inode, range, block) {
                let before = read;
                read = read.saturating_add(range.end - range.start);
                let stretch = Stretch { range, rank, read: before..before };
                files.entry(*inode).or_default().push(stretch);
            }
        }
        let mut all = Vec::new();
        for (inode, stretches) in files {
            let joined = joined(stretches, u64::from(block.size())).into_iter();
            all.extend(joined.map(|Stretch { rank, range, .. }| (rank, HotRange { inode, range })));
        }
        all.sort_by_key(|(rank, hot)| (*rank, hot.range.start));
        let mut hot = Self::default();
        for (number, (_, range)) in all.into_iter().enumerate() {
            hot.by_file.entry(range.inode).or_default().push(number);
            hot.ranges.push(range);
        }
        hot
    }

    /// Whether some of a file is hot.
    pub(crate) fn has(&self, inode: InodeIndex) -> bool {
        self.by_file.contains_key(&inode)
    }

    /// The files all of which is hot.
    pub(super) fn whole_files(&self, input: Input<'_>) -> impl Iterator<Item = InodeIndex> {
        self.files().into_iter().filter(move |inode| {
            let ranges = self.by_file.get(inode).into_iter().flatten();
            let ranges = ranges.filter_map(|number| self.ranges.get(*number));
            // They don't overlap.
            ranges.map(|hot| hot.range.end - hot.range.start).sum::<u64>() == input.size(*inode)
        })
    }

    /// How early some of a range is read, if it is hot: smaller is earlier.
    pub(crate) fn rank(&self, inode: InodeIndex, range: &Range<u64>) -> Option<usize> {
        let numbers = self.by_file.get(&inode)?.iter().copied();
        let overlaps = |number: &usize| {
            let hot = self.ranges.get(*number).map(|hot| &hot.range);
            hot.is_some_and(|hot| hot.start < range.end && range.start < hot.end)
        };
        numbers.filter(overlaps).min()
    }

    /// The files, in the order of what of them comes first.
    pub(super) fn files(&self) -> Vec<InodeIndex> {
        let is_first = |(number, hot): &(usize, &HotRange)| {
            self.by_file.get(&hot.inode).and_then(|numbers| numbers.first()) == Some(number)
        };
        self.ranges.iter().enumerate().filter(is_first).map(|(_, hot)| hot.inode).collect()
    }
}

/// The blocks of a regular file that hold a range; `None` if there are none.
fn in_blocks(
    input: Input<'_>,
    inode: InodeIndex,
    range: &Range<u64>,
    block: BlockBits,
) -> Option<Range<u64>> {
    if inode.index() >= input.tree.len() {
        return None;
    }
    let Kind::Regular { size } = input.tree.get(inode).kind else { return None };
    let bytes = u64::from(block.size());
    let start = range.start / bytes * bytes;
    let end = range.end.min(size).checked_next_multiple_of(bytes).unwrap_or(size).min(size);
    (start < end).then_some(start..end)
}

/// A range of a file that is used at a time.
struct Stretch {
    range: Range<u64>,
    /// Its number among all ranges; of several the first.
    rank: usize,
    /// The bytes that are read before it, and if it is several before the last of them.
    read: Range<u64>,
}

impl Stretch {
    /// Whether both are used at about the same time.
    fn is_with(&self, other: &Self) -> bool {
        let first = self.read.start.min(other.read.start);
        self.read.end.max(other.read.end) - first <= MEANWHILE
    }

    fn extend(&mut self, other: &Self) {
        // What is used again later, as another profile says, is no reason to store the next range apart.
        if self.is_with(other) {
            self.read.start = self.read.start.min(other.read.start);
            self.read.end = self.read.end.max(other.read.end);
        }
        self.range.end = self.range.end.max(other.range.end);
        self.rank = self.rank.min(other.rank);
    }

    /// Leaves a block that both have to the one that is used first; the other one starts later. Returns whether they have no more
    /// in common, and each keeps something.
    fn part(&mut self, other: &mut Self, block: u64) -> bool {
        let common = self.range.end.saturating_sub(other.range.start);
        let has_more = |stretch: &Self| stretch.range.end - stretch.range.start > common;
        let is_border = common <= block && has_more(self) && has_more(other);
        if is_border && self.rank < other.rank {
            other.range.start += common;
        } else if is_border {
            self.range.end -= common;
        }
        is_border
    }
}

/// Stretches by position; those with small gaps between them are one if they are used at about the same time.
fn joined(mut stretches: Vec<Stretch>, block: u64) -> Vec<Stretch> {
    stretches.sort_by_key(|stretch| stretch.range.start);
    let mut found: Vec<Stretch> = Vec::new();
    for mut stretch in stretches {
        let is_near =
            |last: &&mut Stretch| stretch.range.start <= last.range.end.saturating_add(GAP);
        if let Some(last) = found.last_mut().filter(is_near)
            && (last.is_with(&stretch) || !last.part(&mut stretch, block))
        {
            last.extend(&stretch);
        } else {
            found.push(stretch);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use lith_tree::{Filesystem, MemoryContents, Metadata, Name, Tree};

    use super::*;
    use crate::Order;

    #[test]
    fn ranges_are_blocks_by_first_use_and_close_ones_are_one() {
        let mut tree = Tree::new(Metadata::default());
        let mut add = |name: &str, kind| {
            let name = Name::new(name.as_bytes()).unwrap();
            tree.add(InodeIndex::ROOT, name, Metadata::default(), kind).unwrap()
        };
        let (a, b) = (add("a", Kind::Regular { size: 1_000_001 }), add("b", Kind::Fifo));
        let c = add("c", Kind::Regular { size: 10 });
        let mut order = Order::new();
        order.ranges = vec![
            (b, 0..5),
            (a, 500_000..500_001),
            (InodeIndex::ROOT, 0..1),
            (c, 0..u64::MAX),
            (a, 1_000_000..u64::MAX),
            (a, 10_000..10_001),
            (a, 30_000..30_001),
            (a, 2_000_000..3_000_000),
            (c, 5..5),
        ];
        let contents = MemoryContents::default();
        let input = Input::new(Filesystem { tree: &tree, contents: &contents }).with_order(&order);
        let hot = Hot::new(input, BlockBits::DEFAULT);
        let found: Vec<_> = hot.ranges.iter().map(|hot| (hot.inode, hot.range.clone())).collect();
        let expected =
            [(a, 499_712..503_808), (c, 0..10), (a, 999_424..1_000_001), (a, 8192..32_768)];
        assert_eq!(found, expected);
        assert_eq!(hot.files(), [a, c]);
        assert_eq!(hot.rank(a, &(1_000_000..1_000_001)), Some(2));
        assert_eq!(hot.rank(a, &(32_768..40_000)), None);
        assert!(hot.has(c) && !hot.has(b));
        assert_eq!(hot.whole_files(input).collect::<Vec<_>>(), [c]);
    }

    #[test]
    fn what_is_used_later_is_apart() {
        let mut tree = Tree::new(Metadata::default());
        let mut add = |name: &str, size| {
            let name = Name::new(name.as_bytes()).unwrap();
            let kind = Kind::Regular { size };
            tree.add(InodeIndex::ROOT, name, Metadata::default(), kind).unwrap()
        };
        let (program, library) = (add("program", 300_000), add("library", MEANWHILE));
        let mut order = Order::new();
        order.ranges = vec![
            (program, 100_000..200_000),
            (program, 200_000..210_000),
            (library, 0..MEANWHILE),
            (program, 0..100_000),
            (program, 210_000..300_000),
        ];
        let contents = MemoryContents::default();
        let input = Input::new(Filesystem { tree: &tree, contents: &contents }).with_order(&order);
        let hot = Hot::new(input, BlockBits::DEFAULT);
        let found: Vec<_> = hot.ranges.iter().map(|hot| (hot.inode, hot.range.clone())).collect();
        let expected = [
            (program, 98_304..212_992),
            (library, 0..MEANWHILE),
            (program, 0..98_304),
            (program, 212_992..300_000),
        ];
        assert_eq!(found, expected);
        assert_eq!(hot.whole_files(input).collect::<Vec<_>>(), [program, library]);
        // A range within another one stays with it.
        let mut more = order.clone();
        more.ranges.push((program, 120_000..130_000));
        assert_eq!(Hot::new(input.with_order(&more), BlockBits::DEFAULT).ranges, hot.ranges);
    }
}
