//! Leaves files out of a tree: defines [`Fate`], and [`remove_empty`], which removes directories that were kept in vain.

use lith_transform::{Excludes, Verdict};
use lith_tree::{Directory, InodeIndex, Tree};

/// What becomes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Taken,
    /// A directory that is left out unless something in it is taken.
    Provisional,
    LeftOut,
}

impl Fate {
    /// The fate of the file called `name` in the directory at `parent`, which has the fate `above`.
    pub(crate) fn new(
        excludes: &Excludes,
        above: Self,
        (parent, name): (&[u8], &[u8]),
        is_directory: bool,
    ) -> Self {
        let is_taken = match excludes.verdict(parent, name) {
            None => above == Self::Taken,
            Some(verdict) => verdict == Verdict::Included,
        };
        match is_taken {
            true => Self::Taken,
            false if is_directory && excludes.has_exceptions() => Self::Provisional,
            false => Self::LeftOut,
        }
    }
}

/// Removes those of the directories, which are in the order of a walk, that are empty.
pub(crate) fn remove_empty(tree: &mut Tree, directories: &[InodeIndex]) {
    for directory in directories.iter().rev() {
        let inode = tree.get(*directory);
        let is_empty = inode.as_directory().is_some_and(Directory::is_empty);
        if let Some(name) = tree.name(*directory).filter(|_| is_empty).cloned() {
            let parent = inode.parent();
            tree.remove(parent, name.as_bytes());
        }
    }
}
