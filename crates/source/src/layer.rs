//! Defines [`Layer`], a tree that is on top of others and takes something of them.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use lith_tree::InodeIndex;

use crate::Source;

/// A tree, and what it takes of the layers below it.
pub(crate) struct Layer {
    pub(crate) source: Source,
    pub(crate) borrowed: Borrowed,
    /// Whether its root can be opaque as other directories can; overlayfs ignores the mark there.
    pub(crate) has_opaque_root: bool,
    /// Its name for messages.
    pub(crate) name: PathBuf,
}

/// What a layer takes of those below it, by inodes of its own tree.
#[derive(Debug, Default)]
pub(crate) struct Borrowed {
    /// Directories that are only on the way to other files: if there is one below, its attributes stay.
    pub(crate) passed: HashSet<InodeIndex>,
    /// Hard links, each an empty file, to what is at a path below.
    pub(crate) links: HashMap<InodeIndex, Vec<u8>>,
}

impl Borrowed {
    /// The same of a tree with other numbers.
    pub(crate) fn renumbered(self, number: impl Fn(InodeIndex) -> Option<InodeIndex>) -> Self {
        let links = self.links.into_iter();
        Self {
            passed: self.passed.into_iter().filter_map(&number).collect(),
            links: links.filter_map(|(inode, path)| Some((number(inode)?, path))).collect(),
        }
    }
}

impl From<Source> for Layer {
    fn from(source: Source) -> Self {
        Self { source, borrowed: Borrowed::default(), has_opaque_root: false, name: PathBuf::new() }
    }
}
