//! Defines [`Adjust`], which replaces owners and times of all files and treats whiteouts.

use lith_tree::{Timestamp, Tree};

use crate::overlay::{mark_whiteouts, strip_overlay};

/// How modification times change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// They stay as in the source.
    #[default]
    Keep,
    /// Later ones become this one.
    Clamp(Timestamp),
    /// All become this one.
    Fixed(Timestamp),
}

/// What happens to whiteouts and to the attributes that only an overlay filesystem understands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlay {
    /// They stay as in the source.
    #[default]
    Keep,
    /// They stay, and directories that hold whiteouts get the attribute that makes overlayfs hide them.
    Mark,
    /// They are removed.
    Strip,
}

/// Attributes that replace those of the source in the whole tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjust {
    /// The owner of all files; `None`: as in the source.
    pub uid: Option<u32>,
    /// The group of all files; `None`: as in the source.
    pub gid: Option<u32>,
    /// Added to every owner, modulo 2³².
    pub uid_offset: u32,
    /// Added to every group, modulo 2³².
    pub gid_offset: u32,
    /// Modification times.
    pub times: Times,
    /// Whiteouts and attributes of an overlay filesystem.
    pub overlay: Overlay,
}

impl Adjust {
    /// Changes all inodes of `tree`.
    pub fn apply(&self, tree: &mut Tree) {
        if *self == Self::default() {
            return;
        }
        match self.overlay {
            Overlay::Keep => {}
            Overlay::Mark => mark_whiteouts(tree),
            Overlay::Strip => strip_overlay(tree),
        }
        for inode in tree.inodes_mut() {
            let metadata = &mut inode.metadata;
            let (uid, gid) = (self.uid.unwrap_or(metadata.uid), self.gid.unwrap_or(metadata.gid));
            metadata.uid = uid.wrapping_add(self.uid_offset);
            metadata.gid = gid.wrapping_add(self.gid_offset);
            metadata.mtime = match self.times {
                Times::Keep => metadata.mtime,
                Times::Clamp(latest) => metadata.mtime.min(latest),
                Times::Fixed(time) => time,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use lith_tree::{InodeIndex, Kind, Metadata, Name, Rdev};

    use super::*;

    #[test]
    fn times_are_clamped_from_above_and_owners_replaced() {
        let at = |sec| Timestamp { sec, nsec: 7 };
        for (mtime, clamped) in [(at(5), at(5)), (at(50), at(10))] {
            let mut tree = Tree::new(Metadata { uid: 1, gid: 2, mtime, ..Metadata::default() });
            let times = Times::Clamp(at(10));
            Adjust { uid: Some(0), times, ..Adjust::default() }.apply(&mut tree);
            let root = tree.get(InodeIndex::ROOT).metadata;
            assert_eq!((root.uid, root.gid, root.mtime), (0, 2, clamped));
        }
    }

    #[test]
    fn offsets_are_added_to_the_new_owners_and_wrap() {
        let mut tree = Tree::new(Metadata { uid: 1, gid: 2, ..Metadata::default() });
        let adjust =
            Adjust { uid: Some(10), uid_offset: 5, gid_offset: u32::MAX, ..Adjust::default() };
        adjust.apply(&mut tree);
        let root = tree.get(InodeIndex::ROOT).metadata;
        assert_eq!((root.uid, root.gid), (15, 1));
    }

    #[test]
    fn whiteouts_are_kept_marked_or_stripped() {
        for (overlay, names, marks) in
            [(Overlay::Keep, 1, 0), (Overlay::Mark, 1, 1), (Overlay::Strip, 0, 0)]
        {
            let mut tree = Tree::new(Metadata::default());
            let name = Name::new(b"gone").unwrap();
            let kind = Kind::CharDevice(Rdev::default());
            tree.add(InodeIndex::ROOT, name, Metadata::default(), kind).unwrap();
            Adjust { overlay, ..Adjust::default() }.apply(&mut tree);
            let root = tree.get(InodeIndex::ROOT);
            assert_eq!(root.as_directory().unwrap().len(), names);
            assert_eq!(tree.xattrs.get(root.metadata.xattrs).len(), marks);
        }
    }
}
