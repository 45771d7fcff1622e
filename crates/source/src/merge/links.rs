//! Finds what the hard links of a layer lead to in the layers below it.

use std::collections::{HashMap, HashSet};

use lith_tree::InodeIndex;

use super::parts::{LayerTree, Origin, parts};
use crate::{SourceError, TarError, layer::Layer, tar::Refusal};

/// Hard links across layers.
#[derive(Default)]
pub(super) struct Links {
    /// What each leads to, which is no such link itself.
    targets: HashMap<Origin, Origin>,
    /// All that they lead to.
    shared: HashSet<Origin>,
}

impl Links {
    /// Those of all layers.
    pub(super) fn new(layers: &[Layer]) -> Result<Self, SourceError> {
        let mut links = Self::default();
        for (number, layer) in layers.iter().enumerate() {
            for (inode, path) in &layer.borrowed.links {
                let target = links.target(layers, number, path).ok_or_else(|| {
                    let member = layer.source.tree.path(*inode).into();
                    let source = Refusal::LinkToNothing(path.as_slice().into());
                    let source = TarError::Refused { member, source };
                    SourceError::Tar { path: layer.name.clone(), source }
                })?;
                links.targets.insert((number, *inode), target);
                links.shared.insert(target);
            }
        }
        Ok(links)
    }

    /// The inode itself, or if it is a link that to which it leads.
    pub(super) fn follow(&self, origin: Origin) -> Origin {
        self.targets.get(&origin).copied().unwrap_or(origin)
    }

    /// The links of a layer.
    pub(super) fn of_layer(&self, layer: usize) -> impl Iterator<Item = InodeIndex> {
        self.targets.keys().filter(move |(number, _)| *number == layer).map(|(_, inode)| *inode)
    }

    /// Whether an inode has several names because of such links.
    pub(super) fn lead_to(&self, origin: Origin) -> bool {
        self.shared.contains(&origin)
    }

    /// The file at a path below a layer, or else in the layer itself, in which it follows the link.
    fn target(&self, layers: &[Layer], number: usize, path: &[u8]) -> Option<Origin> {
        let below = layers.get(..number)?;
        if let Some(found) = find(below, path) {
            return is_file(layers, found).then(|| self.follow(found));
        }
        let layer = layers.get(number)?;
        let mut inode = layer.source.tree.find(path)?;
        // Links can lead to one another.
        for _step in &layer.borrowed.links {
            let Some(next) = layer.borrowed.links.get(&inode) else { break };
            match find(below, next) {
                Some(found) => return is_file(layers, found).then(|| self.follow(found)),
                None => inode = layer.source.tree.find(next)?,
            }
        }
        let own = (number, inode);
        let is_link = layer.borrowed.links.contains_key(&inode);
        (!is_link && is_file(layers, own)).then_some(own)
    }
}

/// The topmost inode at a path of merged layers, unless it is hidden.
fn find(layers: &[Layer], path: &[u8]) -> Option<Origin> {
    let tree = |number: usize| layers.get(number).map(|layer| &layer.source.tree);
    let mut at: Vec<Origin> = (0..layers.len()).rev().map(|n| (n, InodeIndex::ROOT)).collect();
    for name in path.split(|byte| *byte == b'/') {
        let in_part = |(number, inode): Origin| {
            Some((number, tree(number)?.get(inode).as_directory()?.get(name)?))
        };
        at = parts(layers, &at).into_iter().filter_map(in_part).collect();
    }
    at.first().copied()
}

fn is_file(layers: &[Layer], (number, inode): Origin) -> bool {
    let inode = layers.get(number).map(|layer| layer.source.tree.get(inode));
    inode.is_some_and(|inode| inode.as_directory().is_none() && !lith_transform::is_whiteout(inode))
}

impl LayerTree for Layer {
    fn tree(&self) -> &lith_tree::Tree {
        &self.source.tree
    }

    fn has_opaque_root(&self) -> bool {
        self.has_opaque_root
    }
}
