//! Defines why a SquashFS image can't be read as a tree.

use lith_squashfs::Error;
use lith_tree::{DisplayPath, NameError, TreeError};

use crate::limits;

/// Why a SquashFS image can't be read as a tree. Paths are from its root.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SquashFsError {
    /// The image as a whole can't be used.
    #[error("the SquashFS image can't be opened")]
    Open {
        /// Why.
        source: Error,
    },
    /// An inode, a directory or extended attributes can't be read.
    #[error("/{}: cannot be read from the SquashFS image", DisplayPath(path))]
    Read {
        /// The file.
        path: Vec<u8>,
        /// Why.
        source: Error,
    },
    /// The root is another file than a directory.
    #[error("the root of the SquashFS image is no directory")]
    Root,
    /// A directory is inside itself or has two names.
    #[error("/{} and /{} are one directory", DisplayPath(first), DisplayPath(second))]
    DirectoryTwice {
        /// Its first path; empty for the root.
        first: Vec<u8>,
        /// Its second path.
        second: Vec<u8>,
    },
    /// A file has an impossible name.
    #[error("/{}: has an impossible name", DisplayPath(path))]
    Name {
        /// The file.
        path: Vec<u8>,
        /// What is wrong with it.
        source: NameError,
    },
    /// A file can't be added to the tree.
    #[error("/{}: cannot be added to the tree", DisplayPath(path))]
    Tree {
        /// The file.
        path: Vec<u8>,
        /// Why.
        source: TreeError,
    },
    /// Directories or symlinks together are larger than the tables that hold them.
    #[error("parts of the SquashFS image overlap, which should not")]
    Overlap,
    /// The extended attributes of all files together are larger than any real ones.
    #[error("the extended attributes have more than {} bytes", limits::SQUASHFS_XATTRS)]
    Xattrs,
}

impl SquashFsError {
    /// Whether it concerns one file, so that the others can be read.
    pub(super) const fn is_local(&self) -> bool {
        !matches!(self, Self::Open { .. } | Self::Root | Self::Overlap | Self::Xattrs)
    }

    /// What is wrong, with all causes and without the path.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Read { source, .. } => chain(source),
            Self::DirectoryTwice { first, .. } => {
                format!("is the same directory as /{}", DisplayPath(first))
            }
            Self::Name { source, .. } => source.to_string(),
            Self::Tree { source, .. } => source.to_string(),
            other => chain(other),
        }
    }
}

/// An error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let (mut text, mut next) = (error.to_string(), error.source());
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
