//! Defines [`Filesystem`], a tree together with access to the bytes of its files.

use std::fmt;

use crate::{Content, ContentError, Contents, InodeIndex, Tree};

/// A tree together with access to the bytes of its regular files.
#[derive(Clone, Copy)]
pub struct Filesystem<'a> {
    /// Names, attributes and links.
    pub tree: &'a Tree,
    /// The bytes of the tree's regular files.
    pub contents: &'a dyn Contents,
}

impl<'a> Filesystem<'a> {
    /// Joins a tree and the contents that belong to it.
    #[must_use]
    pub const fn new(tree: &'a Tree, contents: &'a dyn Contents) -> Self {
        Self { tree, contents }
    }

    /// Opens one regular file of the tree.
    ///
    /// # Errors
    /// [`ContentError`] if it can't be opened, has been removed, or differs from the tree.
    pub fn open(self, inode: InodeIndex) -> Result<Box<dyn Content + 'a>, ContentError> {
        self.contents.open(self.tree, inode)
    }
}

impl fmt::Debug for Filesystem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filesystem").field("tree", self.tree).finish_non_exhaustive()
    }
}
