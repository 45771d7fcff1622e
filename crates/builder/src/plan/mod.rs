//! What is decided before any file is read: the order of inodes and data, the times and extended
//! attributes that are stored once.

mod order;
mod times;
mod xattrs;

use lith_tree::{InodeIndex, Timestamp, Tree};

pub(crate) use xattrs::XattrPlan;

use crate::BuildError;

/// What is known before any file is read.
#[derive(Debug)]
pub(crate) struct Plan {
    /// All inodes that have a name, in the order of their places in the image.
    pub(crate) order: Vec<InodeIndex>,
    /// The time that compact inodes have.
    pub(crate) epoch: Timestamp,
    /// Where each extended attribute is stored.
    pub(crate) xattrs: XattrPlan,
}

impl Plan {
    /// Plans an image of `tree`.
    pub(crate) fn new(tree: &Tree) -> Result<Self, BuildError> {
        let order = order::siblings_together(tree);
        let epoch = times::most_frequent(tree, &order);
        let xattrs = XattrPlan::new(tree, &order)?;
        Ok(Self { order, epoch, xattrs })
    }
}
