//! Defines [`Sides`], values of two trees, and [`Pairs`], which walks the paths of both at once.

use std::{cmp::Ordering, collections::btree_map, iter::Peekable};

use crate::{Directory, InodeIndex, Name, Tree};

/// One value for the left tree and one for the right.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Sides<T> {
    pub(super) left: T,
    pub(super) right: T,
}

/// The inodes at a path, by the trees that have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pair {
    Left(InodeIndex),
    Right(InodeIndex),
    Both(Sides<InodeIndex>),
}

/// Visits every path of either tree once, in the order of [`Tree::walk`].
pub(super) struct Pairs<'a> {
    trees: Sides<&'a Tree>,
    stack: Vec<Level<'a>>,
    path: Vec<u8>,
    started: bool,
}

struct Level<'a> {
    left: Entries<'a>,
    right: Entries<'a>,
    /// The length of the directory's own path, with a trailing slash.
    prefix: usize,
}

type Entries<'a> = Peekable<btree_map::Iter<'a, Name, InodeIndex>>;

impl<'a> Level<'a> {
    fn next(&mut self) -> Option<(&'a Name, Pair)> {
        let order = match (self.left.peek(), self.right.peek()) {
            (Some((left, _)), Some((right, _))) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        match order {
            Ordering::Less => self.left.next().map(|(name, at)| (name, Pair::Left(*at))),
            Ordering::Greater => self.right.next().map(|(name, at)| (name, Pair::Right(*at))),
            Ordering::Equal => {
                let (left, right) = (self.left.next()?, self.right.next()?);
                Some((left.0, Pair::Both(Sides { left: *left.1, right: *right.1 })))
            }
        }
    }
}

static NO_ENTRIES: btree_map::BTreeMap<Name, InodeIndex> = btree_map::BTreeMap::new();

impl<'a> Pairs<'a> {
    pub(super) fn new(trees: Sides<&'a Tree>) -> Self {
        Self { trees, stack: Vec::new(), path: Vec::new(), started: false }
    }

    /// The next path, without a leading slash, and its inodes.
    pub(super) fn advance(&mut self) -> Option<(&[u8], Pair)> {
        if !std::mem::replace(&mut self.started, true) {
            let root = Pair::Both(Sides { left: InodeIndex::ROOT, right: InodeIndex::ROOT });
            self.descend(root);
            return Some((&self.path, root));
        }
        loop {
            let level = self.stack.last_mut()?;
            self.path.truncate(level.prefix);
            if let Some((name, pair)) = level.next() {
                self.path.extend_from_slice(name.as_bytes());
                let length = self.path.len();
                self.descend(pair);
                // The slash after a directory's path is for its entries only.
                return Some((self.path.get(..length)?, pair));
            }
            self.stack.pop();
        }
    }

    fn descend(&mut self, pair: Pair) {
        let (left, right) = match pair {
            Pair::Left(left) => (self.trees.left.get(left).as_directory(), None),
            Pair::Right(right) => (None, self.trees.right.get(right).as_directory()),
            Pair::Both(Sides { left, right }) => {
                let Sides { left: one, right: other } = self.trees;
                (one.get(left).as_directory(), other.get(right).as_directory())
            }
        };
        if left.is_none() && right.is_none() {
            return;
        }
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        let prefix = self.path.len();
        let (left, right) = (entries(left), entries(right));
        self.stack.push(Level { left, right, prefix });
    }
}

fn entries(directory: Option<&Directory>) -> Entries<'_> {
    directory.map_or(&NO_ENTRIES, |directory| &directory.entries).iter().peekable()
}
