//! Maps paths of a tree to paths of the filesystem in which the tree is mounted.

use std::collections::HashSet;

use lith_tree::{InodeIndex, Tree, push_name};

/// The path at which a tree is going to be mounted, without slashes at either end and without doubled ones.
#[derive(Debug)]
pub(crate) struct MountPoint(Vec<u8>);

impl MountPoint {
    pub(crate) fn new(path: &[u8]) -> Self {
        let mut normal = Vec::new();
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            push_name(&mut normal, name);
        }
        Self(normal)
    }

    /// The path of a file of the tree, without a leading slash.
    pub(crate) fn relative(&self, path: &[u8]) -> Vec<u8> {
        let mut whole = self.0.clone();
        if !path.is_empty() {
            push_name(&mut whole, path);
        }
        whole
    }

    /// The path of a file of the tree, with a leading slash.
    pub(crate) fn absolute(&self, path: &[u8]) -> Vec<u8> {
        [b"/", &*self.relative(path)].concat()
    }
}

/// All inodes in the order of a tree's walk, each once.
pub(crate) fn inodes(tree: &Tree) -> Vec<InodeIndex> {
    let mut visited = HashSet::new();
    tree.walk().map(|visit| visit.inode).filter(|inode| visited.insert(*inode)).collect()
}
