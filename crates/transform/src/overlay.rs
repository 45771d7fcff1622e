//! Defines the marks of an overlay filesystem in a tree: whiteouts, opaque directories, directories with whiteouts.
//!
//! In a layer a character device 0:0 is a whiteout: it hides the name in the layers below. A directory with the
//! attribute `trusted.overlay.opaque` hides all their entries of its path. A directory that holds whiteouts is marked by an
//! empty `trusted.overlay.origin`, without which overlayfs would show them in a listing of the layer alone.

use lith_tree::{Inode, InodeIndex, Kind, Name, Rdev, Tree, Xattr};

use crate::mount_point::inodes;

/// The attribute of a directory that hides the entries of lower layers.
const OPAQUE: &[u8] = b"trusted.overlay.opaque";
/// The attribute of a file that was copied up, and of directories with whiteouts.
const ORIGIN: &[u8] = b"trusted.overlay.origin";

/// Whether a file is a whiteout.
#[must_use]
pub fn is_whiteout(inode: &Inode) -> bool {
    matches!(inode.kind, Kind::CharDevice(Rdev { major: 0, minor: 0 }))
}

/// Whether a file is a directory that hides the entries of lower layers.
#[must_use]
pub fn is_opaque(tree: &Tree, inode: &Inode) -> bool {
    let is_mark = |xattr: &Xattr| &*xattr.name == OPAQUE;
    inode.as_directory().is_some() && tree.xattrs.get(inode.metadata.xattrs).iter().any(is_mark)
}

/// Gives a directory the attribute that hides the entries of lower layers.
pub fn make_opaque(tree: &mut Tree, directory: InodeIndex) {
    tree.add_xattr(directory, OPAQUE, b"y");
}

/// Takes that attribute from a directory.
pub fn without_opaque(tree: &mut Tree, directory: InodeIndex) {
    let set = tree.get(directory).metadata.xattrs;
    let mut xattrs = tree.xattrs.get(set).to_vec();
    xattrs.retain(|xattr| &*xattr.name != OPAQUE);
    tree.get_mut(directory).metadata.xattrs = tree.xattrs.intern(xattrs);
}

/// Removes what only an overlay filesystem understands: whiteouts, the attribute of opaque directories, and the
/// marks of directories with whiteouts.
pub fn strip_overlay(tree: &mut Tree) {
    for (directory, name) in whiteouts(tree) {
        tree.remove(directory, name.as_bytes());
    }
    for inode in inodes(tree) {
        let is_directory = tree.get(inode).as_directory().is_some();
        let is_stripped = |xattr: &Xattr| &*xattr.name == OPAQUE || is_directory && is_mark(xattr);
        let mut xattrs = tree.xattrs.get(tree.get(inode).metadata.xattrs).to_vec();
        xattrs.retain(|xattr| !is_stripped(xattr));
        tree.get_mut(inode).metadata.xattrs = tree.xattrs.intern(xattrs);
    }
}

/// Marks the directories that hold whiteouts, as overlayfs expects it of a layer.
pub fn mark_whiteouts(tree: &mut Tree) {
    for (directory, _) in whiteouts(tree) {
        let set = tree.get(directory).metadata.xattrs;
        if !tree.xattrs.get(set).iter().any(|xattr| &*xattr.name == ORIGIN) {
            tree.add_xattr(directory, ORIGIN, b"");
        }
    }
}

fn is_mark(xattr: &Xattr) -> bool {
    &*xattr.name == ORIGIN && xattr.value.is_empty()
}

/// The names that lead to whiteouts, with their directories.
fn whiteouts(tree: &Tree) -> Vec<(InodeIndex, Name)> {
    let visits = tree.walk().filter(|visit| is_whiteout(tree.get(visit.inode)));
    visits.filter_map(|visit| Some((visit.parent, visit.name?.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use lith_tree::Metadata;

    use super::*;

    fn add(tree: &mut Tree, parent: InodeIndex, name: &str, kind: Kind) -> InodeIndex {
        let name = Name::new(name.as_bytes()).unwrap();
        tree.add(parent, name, Metadata::default(), kind).unwrap()
    }

    fn names(tree: &Tree, inode: InodeIndex) -> Vec<String> {
        let xattrs = tree.xattrs.get(tree.get(inode).metadata.xattrs).iter();
        xattrs.map(|xattr| String::from_utf8_lossy(&xattr.name).into_owned()).collect()
    }

    #[test]
    fn marks_come_and_go_with_whiteouts() {
        let whiteout = || Kind::CharDevice(Rdev::default());
        let mut tree = Tree::new(Metadata::default());
        let directory = add(&mut tree, InodeIndex::ROOT, "d", Kind::directory());
        add(&mut tree, directory, "gone", whiteout());
        add(&mut tree, directory, "null", Kind::CharDevice(Rdev { major: 1, minor: 3 }));
        let file = add(&mut tree, directory, "f", Kind::Regular { size: 0 });
        make_opaque(&mut tree, directory);
        tree.add_xattr(directory, b"user.a", b"");
        tree.add_xattr(file, ORIGIN, b"");
        mark_whiteouts(&mut tree);
        let expected = ["trusted.overlay.opaque", "trusted.overlay.origin", "user.a"];
        assert_eq!(names(&tree, directory), expected);
        assert_eq!(names(&tree, InodeIndex::ROOT), [""; 0]);
        assert!(is_opaque(&tree, tree.get(directory)) && !is_opaque(&tree, tree.get(file)));

        strip_overlay(&mut tree);
        assert_eq!(names(&tree, directory), ["user.a"]);
        assert_eq!(names(&tree, file), ["trusted.overlay.origin"]);
        assert!(tree.find(b"d/gone").is_none() && tree.find(b"d/null").is_some());
        assert_eq!(tree.walk().count(), 4);
    }
}
