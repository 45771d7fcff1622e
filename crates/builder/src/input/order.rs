//! Defines [`Order`]: what of a tree an image stores first.

use std::ops::Range;

use lith_tree::InodeIndex;

use crate::Digest;

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
    /// What an earlier image's packed inode holds: what is the same comes first of what is not read first, in its order.
    pub packed: EarlierPacked,
}

/// What an earlier image's packed inode holds.
#[derive(Clone, Debug, Default)]
pub struct EarlierPacked {
    /// The digest of each fragment and where it is.
    pub fragments: Vec<(Digest, Range<u64>)>,
    /// Where its pclusters start, in ascending order.
    pub pclusters: Vec<u64>,
}

impl Order {
    /// The order of the tree's directories.
    #[must_use]
    pub const fn new() -> Self {
        let packed = EarlierPacked { fragments: Vec::new(), pclusters: Vec::new() };
        Self { ranges: Vec::new(), first: Vec::new(), last: Vec::new(), inodes: Vec::new(), packed }
    }
}
