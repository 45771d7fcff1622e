//! Orders inodes, and the content of files.

use std::collections::HashSet;

use lith_tree::{InodeIndex, Kind};

use crate::Input;

/// All inodes, and how many come first: the root and those that [`crate::Order`] names, in its order. The others follow:
/// for each directory in the order of a walk, every inode it names that is not in the order yet.
///
/// Inodes of names next to each other are thus stored next to each other, whatever the directories below hold: listing a
/// directory with attributes reads few blocks.
pub(super) fn of_inodes(input: Input<'_>) -> (Vec<InodeIndex>, usize) {
    let tree = input.tree;
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
    input.order.inodes.iter().for_each(|inode| place(*inode, &mut order));
    let first = order.len();
    for visit in tree.walk() {
        if let Some(directory) = tree.get(visit.inode).as_directory() {
            directory.entries().for_each(|(_, inode)| place(inode, &mut order));
        }
    }
    (order, first)
}

/// The regular files that have content: hot ones, of these first those that are stored uncompressed, which directly follow
/// what is hot of the others; those that [`crate::Order`] names first; the others in the order of inodes; those that it
/// names last.
pub(super) fn of_content(
    input: Input<'_>,
    order: &[InodeIndex],
    (hot, is_raw): (&[InodeIndex], &dyn Fn(InodeIndex) -> bool),
) -> Vec<InodeIndex> {
    let (raw, others): (Vec<_>, Vec<_>) = hot.iter().partition(|inode| is_raw(**inode));
    let first = raw.into_iter().chain(others).chain(input.order.first.iter().copied());
    let mut taken: HashSet<_> = HashSet::new();
    let is_in_tree = |inode: &InodeIndex| inode.index() < input.tree.len();
    let first: Vec<_> = first.filter(is_in_tree).filter(|inode| taken.insert(*inode)).collect();
    let last = input.order.last.iter().copied().filter(is_in_tree);
    let last: Vec<_> = last.filter(|inode| taken.insert(*inode)).collect();
    let others = order.iter().copied().filter(|inode| !taken.contains(inode));
    let has_content =
        |inode: &InodeIndex| matches!(input.tree.get(*inode).kind, Kind::Regular { size: 1.. });
    first.into_iter().chain(others).chain(last).filter(has_content).collect()
}

#[cfg(test)]
mod tests {
    use lith_tree::{Filesystem, MemoryContents, Metadata, Name, Tree};

    use super::*;
    use crate::Order;

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
        let contents = MemoryContents::default();
        let input = Input::new(Filesystem { tree: &tree, contents: &contents });
        let names = |order: Vec<InodeIndex>| -> Vec<_> {
            order.iter().map(|i| String::from_utf8(tree.path(*i)).unwrap()).collect()
        };
        let (order, first) = of_inodes(input);
        assert_eq!(
            (names(order), first),
            (["", "a", "b", "a/z", "a/y", "a/y/x"].map(String::from).to_vec(), 1)
        );
        let wanted = Order { inodes: vec![deep, InodeIndex::ROOT, deep], ..Order::new() };
        let (order, first) = of_inodes(input.with_order(&wanted));
        assert_eq!(
            (names(order), first),
            (["", "a/z", "a", "b", "a/y", "a/y/x"].map(String::from).to_vec(), 2)
        );
    }
}
