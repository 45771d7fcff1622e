//! Escapes what overlayfs would take as its own in the layer that it reads an image as, and the reverse.

use lith_builder::composefs::Version;
use lith_transform::is_whiteout;
use lith_tree::{Inode, InodeIndex, Kind, Metadata, Name, Rdev, Tree, Visit, Xattr};

use super::object::{METACOPY, REDIRECT};

/// What overlayfs takes as its own.
const OWN: &[u8] = b"trusted.overlay.";
/// What overlayfs shows as that of the files.
const ESCAPED: &[u8] = b"trusted.overlay.overlay.";

/// Attributes of a file that overlayfs shows as a whiteout.
const WHITEOUT: [&[u8]; 2] = [b"trusted.overlay.overlay.whiteout", b"user.overlay.whiteout"];
/// Attributes of a directory with such files.
const WHITEOUTS: [&[u8]; 2] = [b"trusted.overlay.overlay.whiteouts", b"user.overlay.whiteouts"];
/// Attributes of an opaque directory, and their value if it has such files, from [`Version::V1`] on.
const OPAQUE: [&[u8]; 2] = [b"trusted.overlay.overlay.opaque", b"user.overlay.opaque"];
const NOT_OPAQUE: &[u8] = b"x";

/// The attribute of the root, which hides what is below.
const ROOT_OPAQUE: &[u8] = b"trusted.overlay.opaque";
/// The attribute that the whiteouts of the root have from it.
const LABEL: &[u8] = b"security.selinux";

/// The least version that can express a tree, which is the one that mkcomposefs chooses.
pub(super) fn version_for(tree: &Tree) -> Version {
    if whiteouts(tree).next().is_some() { Version::V1 } else { Version::V0 }
}

fn whiteouts(tree: &Tree) -> impl Iterator<Item = Visit<'_>> {
    tree.walk().filter(|visit| is_whiteout(tree.get(visit.inode)))
}

/// Makes a tree what an image of it must hold, but for files with objects.
pub(super) fn escape(tree: &mut Tree, version: Version) {
    change_xattrs(tree, |_inode, xattrs| {
        for xattr in xattrs {
            if let Some(rest) = xattr.name.strip_prefix(OWN) {
                xattr.name = [ESCAPED, rest].concat().into();
            }
        }
    });
    let found: Vec<_> = whiteouts(tree).map(|visit| (visit.parent, visit.inode)).collect();
    for (parent, inode) in found {
        tree.get_mut(inode).kind = Kind::Regular { size: 0 };
        for name in &WHITEOUT {
            tree.add_xattr(inode, name, b"");
        }
        for name in &WHITEOUTS {
            tree.add_xattr(parent, name, b"");
        }
        // A directory that was opaque no longer is, as with mkcomposefs.
        for name in OPAQUE.iter().filter(|_| version >= Version::V1) {
            tree.add_xattr(parent, name, NOT_OPAQUE);
        }
    }
    hide_objects(tree);
}

/// Hides the folders of objects, for an overlay in which they are a layer as others.
fn hide_objects(tree: &mut Tree) {
    let root = tree.get(InodeIndex::ROOT).metadata;
    let label = tree.xattrs.get(root.xattrs).iter().filter(|xattr| &*xattr.name == LABEL);
    let label = label.cloned().collect();
    let hidden = Metadata { permissions: 0o644, xattrs: tree.xattrs.intern(label), ..root };
    for name in object_folders() {
        // A file of that name hides the folder, too.
        let _ = tree.add(InodeIndex::ROOT, name, hidden, Kind::CharDevice(Rdev::default()));
    }
    tree.add_xattr(InodeIndex::ROOT, ROOT_OPAQUE, b"y");
}

fn object_folders() -> impl Iterator<Item = Name> {
    (0..=u8::MAX).filter_map(|byte| Name::new(format!("{byte:02x}").as_bytes()).ok())
}

/// The reverse of [`escape`]; also drops the attributes that refer to objects.
pub(super) fn unescape(tree: &mut Tree) {
    for name in object_folders() {
        if tree.find(name.as_bytes()).is_some_and(|inode| is_whiteout(tree.get(inode))) {
            tree.remove(InodeIndex::ROOT, name.as_bytes());
        }
    }
    let mut whiteouts = Vec::new();
    change_xattrs(tree, |inode, xattrs| {
        let is = |names: &[&[u8]], xattr: &Xattr| names.contains(&&*xattr.name);
        let (is_file, is_folder) = match inode.1.kind {
            Kind::Regular { size } => (size == 0, false),
            Kind::Directory(_) => (false, true),
            _ => (false, false),
        };
        let is_whiteout = is_file && xattrs.iter().any(|xattr| is(&WHITEOUT, xattr));
        let has_some = is_folder && xattrs.iter().any(|xattr| is(&WHITEOUTS, xattr));
        whiteouts.extend(is_whiteout.then_some(inode.0));
        xattrs.retain(|xattr| {
            let is_mark = is_whiteout && is(&WHITEOUT, xattr)
                || has_some && is(&WHITEOUTS, xattr)
                || has_some && is(&OPAQUE, xattr) && &*xattr.value == NOT_OPAQUE;
            let is_own = [REDIRECT, METACOPY].contains(&&*xattr.name)
                || inode.0 == InodeIndex::ROOT && &*xattr.name == ROOT_OPAQUE;
            !is_mark && !is_own
        });
        for xattr in xattrs {
            if let Some(rest) = xattr.name.strip_prefix(ESCAPED) {
                xattr.name = [OWN, rest].concat().into();
            }
        }
    });
    for inode in whiteouts {
        tree.get_mut(inode).kind = Kind::CharDevice(Rdev::default());
    }
}

/// Changes the attributes of each inode that has a name.
fn change_xattrs(tree: &mut Tree, mut change: impl FnMut((InodeIndex, &Inode), &mut Vec<Xattr>)) {
    let mut inodes: Vec<_> = tree.walk().map(|visit| visit.inode).collect();
    inodes.sort_unstable();
    inodes.dedup();
    for inode in inodes {
        let mut xattrs = tree.xattrs.get(tree.get(inode).metadata.xattrs).to_vec();
        if xattrs.is_empty() {
            continue;
        }
        change((inode, tree.get(inode)), &mut xattrs);
        tree.get_mut(inode).metadata.xattrs = tree.xattrs.intern(xattrs);
    }
}
