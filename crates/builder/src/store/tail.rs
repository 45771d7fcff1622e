//! Defines [`Tail`], the end of a file that becomes a fragment.

use lith_format::{addr::Blkaddr, zmap::EncodedExtent};
use lith_tree::InodeIndex;

use crate::scan::Fragment;

/// A fragment, and the pclusters that precede it in its file.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) fragment: Fragment,
    /// The block of the first pcluster.
    pub(crate) start: u64,
    pub(crate) extents: Vec<EncodedExtent>,
    /// The block of each pcluster, if they are not contiguous.
    pub(crate) addresses: Option<Vec<Blkaddr>>,
}

impl Tail {
    /// A fragment that is a whole file.
    pub(crate) const fn whole(fragment: Fragment) -> Self {
        Self { fragment, start: 0, extents: Vec::new(), addresses: None }
    }

    /// Fragments that are whole files, and those that are the tails of files, in the order of `files`.
    pub(crate) fn in_order(
        files: &[InodeIndex],
        whole: Vec<Fragment>,
        tails: Vec<Self>,
    ) -> Vec<Self> {
        let mut whole = whole.into_iter().map(Self::whole).peekable();
        let mut tails = tails.into_iter().peekable();
        let next = |inode: &InodeIndex| {
            let is_of = |tail: &Self| tail.fragment.inode == *inode;
            whole.next_if(is_of).or_else(|| tails.next_if(is_of))
        };
        files.iter().filter_map(next).collect()
    }
}
