//! Defines [`VerityError`], why a hash tree can't be made or used.

use std::io;

use lith_device::DeviceError;

use crate::SuperblockError;

/// Why a hash tree can't be made or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerityError {
    /// Data or digests can't be read, or don't match.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The tree can't be written.
    #[error("cannot write the hash tree")]
    Write(#[source] io::Error),
    /// There is no tree, or none that can be used.
    #[error(transparent)]
    Superblock(#[from] SuperblockError),
    /// A tree has no data, or more than addresses reach.
    #[error("a hash tree can't have {data_blocks} blocks")]
    Size {
        /// Blocks of data.
        data_blocks: u64,
    },
    /// The data has another length than the tree.
    #[error("there are {found} bytes, {expected} in the hash tree")]
    Length {
        /// Bytes of data.
        found: u64,
        /// Bytes that the tree has digests of.
        expected: u64,
    },
    /// The digest at the top is another one.
    #[error("the hash tree has the root hash {found}, expected {expected}")]
    RootHash {
        /// Its own.
        found: crate::RootHash,
        /// The one that was given.
        expected: crate::RootHash,
    },
}
