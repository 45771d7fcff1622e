//! Orders inodes, and the content of files.

use std::collections::HashSet;

use lith_tree::{InodeIndex, Kind, Tree};

use crate::Input;

/// The root; then, for each directory in the order of a walk, every inode it names that is not in the order yet.
///
/// Inodes of names next to each other are thus stored next to each other, whatever the directories below hold: listing a
/// directory with attributes reads few blocks.
pub(super) fn siblings_together(tree: &Tree) -> Vec<InodeIndex> {
    let mut placed = vec![false; tree.len()];
    let mut order = Vec::with_capacity(tree.len());
    let mut place = |inode: InodeIndex, order: &mut Vec<_>| {
        if let Some(placed) = placed.get_mut(inode.index())
            && !std::mem::replace(placed, true)
        {
            order.push(inode);
        }
    };
    place(InodeIndex::ROOT, &mut order);
    for visit in tree.walk() {
        if let Some(directory) = tree.get(visit.inode).as_directory() {
            directory.entries().for_each(|(_, inode)| place(inode, &mut order));
        }
    }
    order
}

/// The regular files that have content: those of [`crate::Order`] first, then the others in the order of inodes.
pub(super) fn of_content(input: Input<'_>, order: &[InodeIndex]) -> Vec<InodeIndex> {
    let mut taken = HashSet::new();
    let first = input.order.first.iter().filter(|index| index.index() < input.tree.len());
    let first: Vec<_> = first.copied().filter(|index| taken.insert(*index)).collect();
    let others = order.iter().copied().filter(|index| !taken.contains(index));
    let has_content =
        |index: &InodeIndex| matches!(input.tree.get(*index).kind, Kind::Regular { size: 1.. });
    first.iter().copied().chain(others).filter(has_content).collect()
}

#[cfg(test)]
mod tests {
    use lith_tree::{Kind, Metadata, Name};

    use super::*;

    #[test]
    fn siblings_come_before_what_lies_deeper_and_links_only_once() {
        let mut tree = Tree::new(Metadata::default());
        let mut add = |parent: &str, name: &str, kind: Kind| {
            let parent = tree.find(parent.as_bytes()).unwrap();
            let name = Name::new(name.as_bytes()).unwrap();
            tree.add(parent, name, Metadata::default(), kind).unwrap()
        };
        add("", "b", Kind::Fifo);
        add("", "a", Kind::directory());
        let deep = add("a", "z", Kind::Fifo);
        add("a", "y", Kind::directory());
        add("a/y", "x", Kind::Fifo);
        tree.link(InodeIndex::ROOT, Name::new(b"c").unwrap(), deep).unwrap();
        let order = siblings_together(&tree);
        let names: Vec<_> =
            order.iter().map(|i| String::from_utf8(tree.path(*i)).unwrap()).collect();
        assert_eq!(names, ["", "a", "b", "a/z", "a/y", "a/y/x"]);
    }
}
