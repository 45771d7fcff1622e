//! Defines [`parts`], the directories of which a merged one consists.

use lith_transform::is_opaque;
use lith_tree::{InodeIndex, Tree};

/// An inode of a layer: the layer's number and the inode's there.
pub(super) type Origin = (usize, InodeIndex);

/// A layer, whatever else it has.
pub(super) trait LayerTree {
    fn tree(&self) -> &Tree;

    /// Whether a mark of its root counts.
    fn has_opaque_root(&self) -> bool;
}

/// The directories at the start of a list, down to one that hides those below.
pub(super) fn parts(layers: &[impl LayerTree], origins: &[Origin]) -> Vec<Origin> {
    let mut parts = Vec::new();
    for (number, index) in origins {
        let Some(layer) = layers.get(*number) else { break };
        let inode = layer.tree().get(*index);
        if inode.as_directory().is_none() {
            break;
        }
        parts.push((*number, *index));
        let can_hide = *index != InodeIndex::ROOT || layer.has_opaque_root();
        if can_hide && is_opaque(layer.tree(), inode) {
            break;
        }
    }
    parts
}
