//! In what order do inodes, and the data of files, lie?

use lith_tree::{InodeIndex, Tree};

/// The root; then, for each directory in the order of a walk, everything it names that has no place yet.
///
/// Names next to each other are thus inodes next to each other, whatever lies deeper in the tree: listing
/// a directory with attributes reads few blocks.
pub(crate) fn siblings_together(tree: &Tree) -> Vec<InodeIndex> {
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
