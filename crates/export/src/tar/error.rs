//! Defines why a tree can't be written as a tar.

use std::{io, path::Path};

use lith_tree::ContentError;

/// Why a tree can't be written as a tar.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TarError {
    /// The program that reads the stream has closed it, as `head` does, which is no failure.
    #[error("the reader of the tar has closed it")]
    BrokenPipe,
    /// The stream can't be written.
    #[error("cannot write the tar")]
    Write(#[source] io::Error),
    /// A file's bytes can't be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The observer cancelled the export.
    #[error("cancelled")]
    Cancelled,
}

impl TarError {
    pub(super) fn writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Write(error),
        }
    }

    /// The path of the file that can't be read.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Content(error) => Some(error.path()),
            _ => None,
        }
    }
}
