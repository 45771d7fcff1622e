//! What is decided before any file is read: the order of inodes and data, into what segments large files are cut, the
//! times and extended attributes that are stored once.

mod order;
mod times;
mod xattrs;

use lith_tree::{InodeIndex, Kind, Timestamp, Tree};

pub(crate) use xattrs::XattrPlan;

use crate::{BuildError, PIECE, compress::SEGMENT};

/// What is known before any file is read.
#[derive(Debug)]
pub(crate) struct Plan {
    /// All inodes that have a name, in the order of their places in the image.
    pub(crate) order: Vec<InodeIndex>,
    /// Bytes of a large file that are compressed as one.
    pub(crate) segment: u64,
    /// The time that compact inodes have.
    pub(crate) epoch: Timestamp,
    /// Where each extended attribute is stored.
    pub(crate) xattrs: XattrPlan,
}

/// A few workers should have something to do even if nearly all content is one file.
fn segment_for(tree: &Tree, order: &[InodeIndex]) -> u64 {
    const PARTS: u64 = 8;
    let sizes = order.iter().map(|inode| match tree.get(*inode).kind {
        Kind::Regular { size } => size,
        _ => 0,
    });
    let content = sizes.fold(0_u64, u64::saturating_add);
    content.div_ceil(PARTS).checked_next_multiple_of(PIECE).unwrap_or(SEGMENT).clamp(PIECE, SEGMENT)
}

impl Plan {
    /// Plans an image of `tree`.
    pub(crate) fn new(tree: &Tree) -> Result<Self, BuildError> {
        let order = order::siblings_together(tree);
        let epoch = times::most_frequent(tree, &order);
        let xattrs = XattrPlan::new(tree, &order)?;
        let segment = segment_for(tree, &order);
        Ok(Self { order, segment, epoch, xattrs })
    }
}
