//! Where does a tree lie in the filesystem that it is for?

use std::collections::HashSet;

use lith_tree::{InodeIndex, Tree};

use crate::exclude::push_name;

/// The path at which a tree is going to be mounted.
#[derive(Debug)]
pub(crate) struct Mounted {
    /// Without slashes at either end, or doubled ones.
    point: Vec<u8>,
}

impl Mounted {
    pub(crate) fn new(point: &[u8]) -> Self {
        let mut path = Vec::new();
        for name in point.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            push_name(&mut path, name);
        }
        Self { point: path }
    }

    /// The path of a file of the tree, without a slash before it.
    pub(crate) fn relative(&self, path: &[u8]) -> Vec<u8> {
        let mut whole = self.point.clone();
        if !path.is_empty() {
            push_name(&mut whole, path);
        }
        whole
    }

    /// The path of a file of the tree, with a slash before it.
    pub(crate) fn absolute(&self, path: &[u8]) -> Vec<u8> {
        [b"/", &*self.relative(path)].concat()
    }
}

/// All inodes in the order of a tree's walk, each once.
pub(crate) fn inodes(tree: &Tree) -> Vec<InodeIndex> {
    let mut met = HashSet::new();
    tree.walk().map(|visit| visit.inode).filter(|inode| met.insert(*inode)).collect()
}
