//! Defines where the data of a tar's members are stored.

use super::sparse::Stretch;

/// Where the data of a file are in the store.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored {
    /// Nowhere: it is not a regular file.
    Nothing,
    /// Contiguous.
    Whole {
        /// Where they start.
        at: u64,
    },
    /// In the stretches of a map.
    Sparse {
        /// The map's index.
        map: usize,
    },
}

/// The data of a sparse file.
pub(super) struct SparseData {
    /// Where they start in the store.
    pub(super) at: u64,
    pub(super) stretches: Vec<Stretch>,
}
