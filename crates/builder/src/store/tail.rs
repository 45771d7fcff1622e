//! Defines [`Tail`], the end of a file that becomes a fragment.

use lith_format::{addr::Blkaddr, compression::AlgorithmSet, zmap::EncodedExtent};

use crate::scan::{Fragment, Sketch};

/// A fragment, and the pclusters that precede it in its file.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) fragment: Fragment,
    pub(crate) sketch: Sketch,
    /// The block of the first pcluster.
    pub(crate) start: u64,
    pub(crate) extents: Vec<EncodedExtent>,
    /// The block of each pcluster, if they are not contiguous.
    pub(crate) addresses: Option<Vec<Blkaddr>>,
    /// The algorithms of the pclusters that other devices hold.
    pub(crate) known: AlgorithmSet,
}
