//! Defines why a tree can't be extracted.

use std::{
    io,
    path::{Path, PathBuf},
};

use lith_tree::ContentError;

/// Why a tree can't be extracted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The destination has entries already.
    #[error("{}: not empty", .0.display())]
    NotEmpty(PathBuf),
    /// The destination has a directory with the name of a file.
    #[error("{}: a directory is in the way of a file", .0.display())]
    InTheWay(PathBuf),
    /// The operating system refused something in the destination.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The path in the destination.
        path: PathBuf,
        /// What was tried, as `create` or `write`.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file's bytes can't be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The observer cancelled the extraction.
    #[error("cancelled")]
    Cancelled,
}

impl ExtractError {
    /// The path concerned: in the destination, or for [`Self::Content`] in the source.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::NotEmpty(path) | Self::InTheWay(path) | Self::Io { path, .. } => Some(path),
            Self::Content(error) => Some(error.path()),
            Self::Cancelled => None,
        }
    }
}
