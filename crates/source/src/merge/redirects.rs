//! Defines [`lookup`], which finds what a name leads to in layers of which some were made with `redirect_dir` or `metacopy`.

use lith_transform::{is_metacopy, is_opaque, is_whiteout, redirect};
use lith_tree::{InodeIndex, Name, Tree};

use super::parts::{LayerTree, Origin};

/// Whether what is below an inode is at another path, or the inode takes its data from there.
pub(super) fn leads_below(tree: &Tree, inode: InodeIndex) -> bool {
    let inode = tree.get(inode);
    is_metacopy(tree, inode) || (inode.as_directory().is_some() && redirect(tree, inode).is_some())
}

/// The inodes that a name in a merged directory has, the topmost first; `parents` are the directories of which that one
/// consists. After a redirect it is another name, or a path from the root, in the layers below.
pub(super) fn lookup(layers: &[impl LayerTree], parents: &[Origin], name: &Name) -> Vec<Origin> {
    let mut found = Vec::new();
    let mut path = vec![name.as_bytes().to_vec()];
    let mut bases = parents.to_vec();
    let mut next = 0;
    while let Some((number, base)) = bases.get(next).copied() {
        next += 1;
        let Some(layer) = layers.get(number) else { continue };
        let step = Step::of(layer.tree(), base, &path);
        found.extend(step.found.map(|inode| (number, inode)));
        if step.ends {
            break;
        }
        path = step.path;
        if step.is_from_root {
            bases = (0..number).rev().map(|below| (below, InodeIndex::ROOT)).collect();
            next = 0;
        }
    }
    found
}

/// What a path leads to in one layer.
struct Step {
    found: Option<InodeIndex>,
    /// Nothing below is seen.
    ends: bool,
    /// The path in the layers below.
    path: Vec<Vec<u8>>,
    is_from_root: bool,
}

impl Step {
    fn of(tree: &Tree, base: InodeIndex, path: &[Vec<u8>]) -> Self {
        let mut step = Self { found: None, ends: false, path: Vec::new(), is_from_root: false };
        let mut at = base;
        for (number, name) in path.iter().enumerate() {
            let child = tree.get(at).as_directory().and_then(|directory| directory.get(name));
            let Some(child) = child else {
                step.path.extend_from_slice(path.get(number..).unwrap_or_default());
                return step;
            };
            let is_last = number + 1 == path.len();
            let inode = tree.get(child);
            let is_directory = inode.as_directory().is_some();
            step.path.push(name.clone());
            if is_whiteout(inode) || !(is_directory || is_last) {
                return Self { ends: true, ..step };
            }
            step.found = is_last.then_some(child);
            if is_opaque(tree, inode) || !(is_directory || is_metacopy(tree, inode)) {
                step.ends = true;
            } else if let Some(target) = redirect(tree, inode) {
                step.redirect(target);
            }
            at = child;
        }
        step
    }

    fn redirect(&mut self, target: &[u8]) {
        let names = target.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        if target.starts_with(b"/") {
            // An opaque directory on the way hides nothing of another path.
            (self.is_from_root, self.ends) = (true, false);
            self.path.clear();
        } else {
            self.path.pop();
        }
        self.path.extend(names.map(<[u8]>::to_vec));
    }
}
