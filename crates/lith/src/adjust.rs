//! Which owners and times does the image show, where they shall differ from the source's?

use lith_tree::{Timestamp, Tree};

/// What becomes of modification times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// As in the source.
    #[default]
    Keep,
    /// None later than this.
    Clamp(Timestamp),
    /// All the same.
    Fixed(Timestamp),
}

/// What the image shows in place of the source's attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjust {
    /// The owner of everything.
    pub uid: Option<u32>,
    /// The group of everything.
    pub gid: Option<u32>,
    /// Modification times.
    pub times: Times,
}

impl Adjust {
    /// Changes all inodes of `tree`.
    pub(crate) fn apply(&self, tree: &mut Tree) {
        if *self == Self::default() {
            return;
        }
        for inode in tree.inodes_mut() {
            let metadata = &mut inode.metadata;
            metadata.uid = self.uid.unwrap_or(metadata.uid);
            metadata.gid = self.gid.unwrap_or(metadata.gid);
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
    use lith_tree::{InodeIndex, Metadata};

    use super::*;

    #[test]
    fn times_are_clamped_from_above_and_owners_replaced() {
        let at = |sec| Timestamp { sec, nsec: 7 };
        for (mtime, clamped) in [(at(5), at(5)), (at(50), at(10))] {
            let mut tree = Tree::new(Metadata { uid: 1, gid: 2, mtime, ..Metadata::default() });
            let times = Times::Clamp(at(10));
            Adjust { uid: Some(0), gid: None, times }.apply(&mut tree);
            let root = tree.get(InodeIndex::ROOT).metadata;
            assert_eq!((root.uid, root.gid, root.mtime), (0, 2, clamped));
        }
    }
}
