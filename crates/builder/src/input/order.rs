//! Defines [`Order`]: what of a tree an image stores first.

use std::ops::Range;

use lith_tree::InodeIndex;

/// In which order an image is stored.
///
/// Whatever is not of the expected type, not in the tree, beyond the end of its file or named before is ignored.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Order {
    /// Ranges of files, in bytes, that come before all other content in this order: their pclusters hold nothing else.
    pub ranges: Vec<(InodeIndex, Range<u64>)>,
    /// The files that come next, in this order.
    pub first: Vec<InodeIndex>,
    /// The files that come after all others, in this order.
    pub last: Vec<InodeIndex>,
    /// The inodes that come first among the metadata, in this order, and with them their directories.
    pub inodes: Vec<InodeIndex>,
}

impl Order {
    /// The order of the tree's directories.
    #[must_use]
    pub const fn new() -> Self {
        Self { ranges: Vec::new(), first: Vec::new(), last: Vec::new(), inodes: Vec::new() }
    }
}
