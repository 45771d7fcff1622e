//! Defines [`Version`], and what all images of composefs have in common.

use lith_format::addr::BlockBits;
use lith_tree::{Inode, Kind, Tree};

/// The block size.
pub(super) const BLOCK: BlockBits = BlockBits::DEFAULT;

/// The attribute of files whose content is elsewhere.
pub(super) const ELSEWHERE: &[u8] = b"trusted.overlay.metacopy";

/// The version of the form of an image, by which programs for composefs know what its marks mean.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Version {
    /// The first one.
    V0 = 0,
    /// Directories with whiteouts have the marks of Linux 6.8.
    V1 = 1,
}

/// Whether the content of a file is elsewhere.
pub(super) fn is_elsewhere(tree: &Tree, inode: &Inode) -> bool {
    let xattrs = tree.xattrs.get(inode.metadata.xattrs);
    matches!(inode.kind, Kind::Regular { size: 1.. })
        && xattrs.iter().any(|xattr| &*xattr.name == ELSEWHERE)
}
