//! Defines [`Order`]: the inodes of a tree, breadth first.

use std::collections::HashSet;

use lith_tree::{InodeIndex, Name, Tree, Visit};

/// What no inode has as its rank.
const NONE: u32 = u32::MAX;

/// The inodes that have names, in the order in which they are stored and numbered: breadth first, and those of one directory by
/// their names. A file of several names is stored where its first one is.
pub(super) struct Order {
    inodes: Vec<InodeIndex>,
    /// By the index of the inode.
    ranks: Vec<u32>,
}

impl Order {
    pub(super) fn new(tree: &Tree) -> Self {
        let homes = homes(tree);
        let mut order = Self { inodes: Vec::new(), ranks: vec![NONE; tree.len()] };
        order.push(InodeIndex::ROOT);
        let mut next = 0;
        while let Some(parent) = order.inodes.get(next).copied() {
            next += 1;
            let Some(directory) = tree.get(parent).as_directory() else { continue };
            for (name, inode) in directory.entries() {
                if !homes.contains(&inode) || is_home(tree, (parent, name), inode) {
                    order.push(inode);
                }
            }
        }
        order
    }

    /// Adds an inode, unless it is there already.
    fn push(&mut self, inode: InodeIndex) {
        let rank = u32::try_from(self.inodes.len()).expect("a tree has fewer than 2³² inodes");
        if let Some(slot) = self.ranks.get_mut(inode.index()).filter(|slot| **slot == NONE) {
            *slot = rank;
            self.inodes.push(inode);
        }
    }

    pub(super) fn inodes(&self) -> &[InodeIndex] {
        &self.inodes
    }

    /// The number of an inode, from 0.
    pub(super) fn rank(&self, inode: InodeIndex) -> usize {
        let rank = self.ranks.get(inode.index()).copied().filter(|rank| *rank != NONE);
        rank.expect("every inode that has a name is in the order") as usize
    }
}

/// The files of several names that still have their first one.
fn homes(tree: &Tree) -> HashSet<InodeIndex> {
    let has_several = |visit: &Visit<'_>| {
        let inode = tree.get(visit.inode);
        inode.as_directory().is_none() && inode.nlink() > 1
    };
    let names = tree.walk().filter(has_several);
    let at_home = names.filter(|visit| {
        visit.name.is_some_and(|name| is_home(tree, (visit.parent, name), visit.inode))
    });
    at_home.map(|visit| visit.inode).collect()
}

fn is_home(tree: &Tree, (parent, name): (InodeIndex, &Name), inode: InodeIndex) -> bool {
    tree.get(inode).parent() == parent && tree.name(inode) == Some(name)
}

#[cfg(test)]
mod tests {
    use lith_tree::{Kind, Metadata};

    use super::*;

    #[test]
    fn files_are_stored_at_their_first_names_that_are_left() {
        let name = |text: &str| Name::new(text.as_bytes()).unwrap();
        let mut tree = Tree::new(Metadata::default());
        let folder = tree.add(InodeIndex::ROOT, name("b"), Metadata::default(), Kind::directory());
        let folder = folder.unwrap();
        let deep = tree.add(folder, name("deep"), Metadata::default(), Kind::Fifo).unwrap();
        let moved = tree.add(folder, name("moved"), Metadata::default(), Kind::Fifo).unwrap();
        let last = tree.add(InodeIndex::ROOT, name("z"), Metadata::default(), Kind::Fifo).unwrap();
        tree.link(InodeIndex::ROOT, name("a"), deep).unwrap();
        for again in ["c", "d"] {
            tree.link(InodeIndex::ROOT, name(again), moved).unwrap();
        }
        tree.remove(folder, b"moved");
        let order = Order::new(&tree);
        assert_eq!(order.inodes(), [InodeIndex::ROOT, folder, moved, last, deep]);
        assert_eq!([order.rank(deep), order.rank(moved)], [4, 2]);
    }
}
