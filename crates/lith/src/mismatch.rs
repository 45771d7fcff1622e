//! Defines [`Mismatch`], how a finished image differs from its source.

use std::{io, path::Path};

use lith_tree::{ContentError, DisplayPath};

/// How an image differs from its source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The image can't be opened again.
    #[error("cannot open it again")]
    Device(#[source] io::Error),
    /// A file of the image, or the image itself, can't be read.
    #[error("{}: cannot be read back", DisplayPath(path))]
    Unreadable {
        /// The file's path in the tree; empty for the root and the image itself.
        path: Vec<u8>,
        /// The reader's error.
        source: lith_reader::Error,
    },
    /// The source no longer has the addresses of a file's bytes.
    #[error(transparent)]
    Source(#[from] ContentError),
    /// A file of the image differs from that of the source.
    #[error("{}: its {what} differs from the source's", DisplayPath(path))]
    Differs {
        /// The file's path in the tree.
        path: Vec<u8>,
        /// Which part of it.
        what: &'static str,
    },
}

impl Mismatch {
    /// The path of the file concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Device(_) => None,
            Self::Source(error) => Some(error.path()),
            Self::Unreadable { path, .. } | Self::Differs { path, .. } => {
                Some(lith_system::path(path))
            }
        }
    }
}
