//! Defines why a byte of a compressed file can't be mapped to its extent.

use super::mapped::ExtentError;
use crate::addr::{La, Lcn};

/// Why a byte can't be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MapError<E> {
    /// An index or record can't be read.
    #[error(transparent)]
    Source(E),
    /// The map is damaged, or the byte is not in the file.
    #[error(transparent)]
    Damaged(#[from] MapDamage),
}

/// What is wrong with a map of lcluster indexes or extent records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapDamage {
    /// The file ends before the byte.
    #[error("byte {la} is beyond the file's {size} bytes")]
    BeyondEof {
        /// The byte requested.
        la: La,
        /// The file's bytes.
        size: u64,
    },
    /// A distance leads out of the file or nowhere.
    #[error("lcluster {lcn} has its HEAD {delta0} lclusters back, which can't be")]
    BogusLookback {
        /// The lcluster.
        lcn: Lcn,
        /// The distance it states; 1 for a HEAD lcluster that begins with an earlier extent.
        delta0: u16,
    },
    /// Distances lead to each other without end, or back and forward disagree.
    #[error("the distances around lcluster {lcn} contradict each other")]
    Contradiction {
        /// Where the search ended.
        lcn: Lcn,
    },
    /// The index after a HEAD should state its pcluster's size.
    #[error("lcluster {lcn} states no CBLKCNT for the HEAD before it")]
    MissingCblkcnt {
        /// The NONHEAD lcluster.
        lcn: Lcn,
    },
    /// A pcluster has no blocks.
    #[error("lcluster {lcn} states a CBLKCNT of 0")]
    ZeroCblkcnt {
        /// The NONHEAD lcluster.
        lcn: Lcn,
    },
    /// There are no extent records, or more than the file has bytes.
    #[error("{count} extent records for a file of {size} bytes")]
    BadCount {
        /// How many.
        count: u64,
        /// The file's bytes.
        size: u64,
    },
    /// The extent records don't ascend from byte 0 on.
    #[error("extent record {record} starts at byte {lstart}, out of order")]
    OutOfOrder {
        /// Which one.
        record: u64,
        /// Where its extent starts.
        lstart: u64,
    },
    /// The extent found is refused.
    #[error(transparent)]
    Extent(#[from] ExtentError),
}

impl<E> From<ExtentError> for MapError<E> {
    fn from(error: ExtentError) -> Self {
        Self::Damaged(error.into())
    }
}
