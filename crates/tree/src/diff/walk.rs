//! Walks over two trees at once, compares attributes, and cuts the content that is to be compared into segments.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    Aspects, Change, Difference, attributes,
    content::Segment,
    pairs::{Pair, Pairs, Sides},
};
use crate::{InodeIndex, Kind, Tree};

/// What one worker takes at once: differences in attributes, then a segment of a file at a path.
pub(super) struct Found {
    pub(super) differences: Vec<Difference>,
    pub(super) segment: Option<(Segment, Box<[u8]>)>,
}

/// The walk over both trees, up to where workers have taken it.
pub(super) struct Walk<'a> {
    trees: Sides<&'a Tree>,
    ignore: Aspects,
    pairs: Pairs<'a>,
    links: Links,
    /// A file of which segments remain.
    file: Option<Remaining>,
    number: u64,
}

/// A file that is cut into segments.
struct Remaining {
    rest: Segment,
    path: Box<[u8]>,
    /// Bytes of each segment.
    length: u64,
}

impl<'a> Walk<'a> {
    /// Bytes of a segment,
    const SEGMENT: u64 = 8 << 20;
    /// unless a file would have more segments than this: a file of holes can have any size.
    const MAX_SEGMENTS: u64 = 1024;
    /// The most differences that are passed on at once.
    const BATCH: usize = 256;

    pub(super) fn new(trees: Sides<&'a Tree>, ignore: Aspects) -> Self {
        Self {
            trees,
            ignore,
            pairs: Pairs::new(trees),
            links: Links::default(),
            file: None,
            number: 0,
        }
    }

    /// The next work, with its number in the order of the walk.
    pub(super) fn next(&mut self) -> Option<(u64, Found)> {
        let mut differences = Vec::new();
        while self.file.is_none() && differences.len() < Self::BATCH {
            if !self.step(&mut differences) {
                break;
            }
        }
        let segment = self.take_segment();
        if segment.is_none() && differences.is_empty() {
            return None;
        }
        let number = self.number;
        self.number += 1;
        Some((number, Found { differences, segment }))
    }

    fn take_segment(&mut self) -> Option<(Segment, Box<[u8]>)> {
        let Remaining { rest, path, length } = self.file.as_mut()?;
        let Range { start, end } = rest.range;
        let middle = end.min(start.saturating_add(*length));
        if middle == end {
            return self.file.take().map(|Remaining { rest, path, .. }| (rest, path));
        }
        rest.range.start = middle;
        let first = Segment { files: rest.files, range: start..middle };
        Some((first, path.clone()))
    }

    /// Advances by one path; false at the end.
    fn step(&mut self, differences: &mut Vec<Difference>) -> bool {
        let Some((path, pair)) = self.pairs.advance() else {
            return false;
        };
        let mut report = |change: Change| {
            if !self.ignore.intersects(change.aspect()) {
                let path = path.into();
                differences.push(Difference { path, change });
            }
        };
        let is_new = self.links.meet(self.trees, pair, path, &mut report);
        match pair {
            Pair::Left(_) => report(Change::Missing),
            Pair::Right(_) => report(Change::Added),
            Pair::Both(files) if is_new => {
                attributes::compare(self.trees, files, &mut report);
                if !self.ignore.contains(Aspects::CONTENT) {
                    let segment = whole_file(self.trees, files);
                    self.file = segment.map(|rest| {
                        let length = Self::SEGMENT.max(rest.range.end / Self::MAX_SEGMENTS);
                        Remaining { rest, path: path.into(), length }
                    });
                }
            }
            Pair::Both(_) => {}
        }
        true
    }
}

/// The bytes in all segments of a walk.
pub(super) fn bytes_to_compare(trees: Sides<&Tree>, ignore: Aspects) -> u64 {
    if ignore.contains(Aspects::CONTENT) {
        return 0;
    }
    let (mut pairs, mut links, mut bytes) = (Pairs::new(trees), Links::default(), 0_u64);
    while let Some((_, pair)) = pairs.advance() {
        if let Pair::Both(files) = pair
            && links.is_new(trees, files)
            && let Some(segment) = whole_file(trees, files)
        {
            bytes = bytes.saturating_add(segment.range.end);
        }
    }
    bytes
}

/// The bytes to compare, if both are regular files of one size.
fn whole_file(trees: Sides<&Tree>, files: Sides<InodeIndex>) -> Option<Segment> {
    match (&trees.left.get(files.left).kind, &trees.right.get(files.right).kind) {
        (Kind::Regular { size }, Kind::Regular { size: other }) if size == other && *size > 0 => {
            Some(Segment { files, range: 0..*size })
        }
        _ => None,
    }
}

/// The inodes with several names that the walk has visited, each with its first path.
#[derive(Default)]
struct Links {
    left: HashMap<InodeIndex, Box<[u8]>>,
    right: HashMap<InodeIndex, Box<[u8]>>,
    compared: HashSet<Sides<InodeIndex>>,
}

impl Links {
    /// Notes a path and reports if its first paths differ. Returns whether its two inodes have not been compared yet.
    fn meet(
        &mut self,
        trees: Sides<&Tree>,
        pair: Pair,
        path: &[u8],
        report: &mut impl FnMut(Change),
    ) -> bool {
        match pair {
            Pair::Left(left) => _ = first(&mut self.left, trees.left, left, path),
            Pair::Right(right) => _ = first(&mut self.right, trees.right, right, path),
            Pair::Both(files) => {
                let one = first(&mut self.left, trees.left, files.left, path);
                let other = first(&mut self.right, trees.right, files.right, path);
                if one != other {
                    let or_own = |first: Option<&[u8]>| first.unwrap_or(path).into();
                    report(Change::Links(or_own(one), or_own(other)));
                }
                return self.is_new(trees, files);
            }
        }
        true
    }

    /// Whether two inodes have not been compared yet; they count as compared from now on.
    fn is_new(&mut self, trees: Sides<&Tree>, files: Sides<InodeIndex>) -> bool {
        let linked = is_linked(trees.left, files.left) || is_linked(trees.right, files.right);
        !linked || self.compared.insert(files)
    }
}

/// The first path of an inode, if that is another one than `path`.
fn first<'a>(
    seen: &'a mut HashMap<InodeIndex, Box<[u8]>>,
    tree: &Tree,
    inode: InodeIndex,
    path: &[u8],
) -> Option<&'a [u8]> {
    if !is_linked(tree, inode) {
        return None;
    }
    let first = seen.entry(inode).or_insert_with(|| path.into());
    (**first != *path).then_some(first)
}

fn is_linked(tree: &Tree, inode: InodeIndex) -> bool {
    let inode = tree.get(inode);
    inode.as_directory().is_none() && inode.nlink() > 1
}
