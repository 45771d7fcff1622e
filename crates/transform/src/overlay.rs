//! Defines the marks of an overlay filesystem in a tree: whiteouts, opaque directories, directories with whiteouts, and what is
//! elsewhere in the layers below.
//!
//! In a layer a character device 0:0 is a whiteout: it hides the name in the layers below. A directory with the
//! attribute `trusted.overlay.opaque` of the value `y` hides all their entries of its path. A directory that holds whiteouts is marked by an
//! empty `trusted.overlay.origin`, without which overlayfs would show them in a listing of the layer alone. A directory that was
//! renamed has `trusted.overlay.redirect`, its path in the layers below; and a file of which only attributes were changed has
//! `trusted.overlay.metacopy`, as its data is there.

use lith_tree::{Inode, InodeIndex, Kind, Name, Rdev, Tree};

use crate::mount_point::inodes;

/// The attribute of a directory that hides the entries of lower layers.
const OPAQUE: &[u8] = b"trusted.overlay.opaque";
/// The attribute of a file that was copied up, and of directories with whiteouts.
const ORIGIN: &[u8] = b"trusted.overlay.origin";
/// The attribute of what has another name below: a path from the root if it starts with a slash, else a name beside its own.
const REDIRECT: &[u8] = b"trusted.overlay.redirect";
/// The attribute of a file whose data is below.
const METACOPY: &[u8] = b"trusted.overlay.metacopy";
/// Attributes by which an overlay recognises files of the layers that it was made of.
const STATE: [&[u8]; 4] =
    [ORIGIN, b"trusted.overlay.impure", b"trusted.overlay.nlink", b"trusted.overlay.uuid"];

/// Whether a file is a whiteout.
#[must_use]
pub fn is_whiteout(inode: &Inode) -> bool {
    matches!(inode.kind, Kind::CharDevice(Rdev { major: 0, minor: 0 }))
}

/// Whether a file is a directory that hides the entries of lower layers.
#[must_use]
pub fn is_opaque(tree: &Tree, inode: &Inode) -> bool {
    // Another value says that whiteouts below are attributes.
    inode.as_directory().is_some() && value(tree, inode, OPAQUE) == Some(b"y")
}

/// Where an inode is in the layers below, if it is not at its own path.
#[must_use]
pub fn redirect<'t>(tree: &'t Tree, inode: &Inode) -> Option<&'t [u8]> {
    value(tree, inode, REDIRECT).filter(|path| !path.is_empty())
}

/// Whether a file's data is in a layer below.
#[must_use]
pub fn is_metacopy(tree: &Tree, inode: &Inode) -> bool {
    matches!(inode.kind, Kind::Regular { .. }) && value(tree, inode, METACOPY).is_some()
}

/// Takes the attributes from a file by which its data is in a layer below.
pub fn without_metacopy(tree: &mut Tree, file: InodeIndex) {
    remove(tree, file, |name| [METACOPY, REDIRECT].contains(&name));
}

fn value<'t>(tree: &'t Tree, inode: &Inode, name: &[u8]) -> Option<&'t [u8]> {
    let mut xattrs = tree.xattrs.get(inode.metadata.xattrs).iter();
    xattrs.find(|xattr| &*xattr.name == name).map(|xattr| &*xattr.value)
}

fn remove(tree: &mut Tree, inode: InodeIndex, is_removed: impl Fn(&[u8]) -> bool) {
    let mut xattrs = tree.xattrs.get(tree.get(inode).metadata.xattrs).to_vec();
    xattrs.retain(|xattr| !is_removed(&xattr.name));
    tree.get_mut(inode).metadata.xattrs = tree.xattrs.intern(xattrs);
}

/// Gives a directory the attribute that hides the entries of lower layers.
pub fn make_opaque(tree: &mut Tree, directory: InodeIndex) {
    tree.add_xattr(directory, OPAQUE, b"y");
}

/// Takes that attribute from a directory.
pub fn without_opaque(tree: &mut Tree, directory: InodeIndex) {
    remove(tree, directory, |name| name == OPAQUE);
}

/// Removes what only an overlay filesystem understands: whiteouts, the attributes of opaque and renamed directories, the
/// marks of directories with whiteouts, and by what it recognises the layers that it was made of.
pub fn strip_overlay(tree: &mut Tree) {
    for (directory, name) in whiteouts(tree) {
        tree.remove(directory, name.as_bytes());
    }
    for inode in inodes(tree) {
        let is_directory = tree.get(inode).as_directory().is_some();
        remove(tree, inode, |name| {
            STATE.contains(&name) || is_directory && [OPAQUE, REDIRECT].contains(&name)
        });
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
        assert_eq!(names(&tree, file), [""; 0]);
        assert!(tree.find(b"d/gone").is_none() && tree.find(b"d/null").is_some());
        assert_eq!(tree.walk().count(), 4);
    }
}
