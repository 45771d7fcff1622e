//! Defines why two trees can't be compared to the end.

use std::path::Path;

use crate::ContentError;

/// One of the two trees that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first one.
    Left,
    /// The second one.
    Right,
}

/// Why two trees can't be compared to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// Bytes of a file of the first tree can't be read.
    #[error("in the first tree")]
    Left(#[source] ContentError),
    /// Bytes of a file of the second tree can't be read.
    #[error("in the second tree")]
    Right(#[source] ContentError),
    /// The observer cancelled the comparison.
    #[error("cancelled")]
    Cancelled,
}

impl DiffError {
    /// The tree with the file that can't be read.
    #[must_use]
    pub const fn side(&self) -> Option<Side> {
        match self {
            Self::Left(_) => Some(Side::Left),
            Self::Right(_) => Some(Side::Right),
            Self::Cancelled => None,
        }
    }

    /// The path of the file that can't be read.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Left(error) | Self::Right(error) => Some(error.path()),
            Self::Cancelled => None,
        }
    }
}
