//! Defines [`Error`], why an image could not be built, opened or used.

use std::{
    io,
    path::{Path, PathBuf},
};

use lith_bases::BaseError;
use lith_builder::BuildError;
use lith_check::CheckError;
use lith_delta::DeltaError;
use lith_export::ExtractError;
use lith_source::{ExcludeError, ImageError, SourceError};
use lith_transform::Unmatched;
use lith_tree::ContentError;
use lith_verity::{SignError, VerityError};

use crate::mismatch::Mismatch;

/// Why an image could not be built, opened or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The image's file can't be created or named.
    #[error("{}: cannot {action}", path.display())]
    Target {
        /// The image's path.
        path: PathBuf,
        /// `create`, `put into place`, `sync the directory of what is in place now`.
        action: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file is at the image's path that is neither an image nor empty, and it is not to be replaced.
    #[error("{}: is no EROFS image, and not replaced", .0.display())]
    Occupied(PathBuf),
    /// More than one file can't be read, or has changed since the source was listed.
    #[error("{} files can't be read", .0.len())]
    Unreadable(Vec<ContentError>),
    /// Patterns match nothing, which was not to be.
    #[error("patterns match nothing")]
    Unmatched(Vec<Unmatched>),
    /// An [`edit`](crate::Builder::edit) of the tree failed.
    #[error(transparent)]
    Edit(Box<dyn std::error::Error + Send + Sync>),
    /// A delta can't be made or applied.
    #[error(transparent)]
    Delta(#[from] DeltaError),
    /// The finished image can't be written to the output.
    #[error("cannot write the image")]
    Output(#[source] io::Error),
    /// An image that is a source can't be read.
    #[error("{}", path.display())]
    Layer {
        /// The image, or a device of it.
        path: PathBuf,
        /// Why.
        source: Box<Self>,
    },
    /// The source can't be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A pattern of [`exclude`](crate::Builder::exclude) or [`rule`](crate::Builder::rule) is invalid.
    #[error(transparent)]
    Pattern(ExcludeError),
    /// [`exclude`](crate::Builder::exclude) or [`read`](crate::Builder::read) was called for a source that is read
    /// already.
    #[error("the source is read already: files can't be excluded from it any more")]
    SourceIsRead,
    /// An image that this one refers to can't be used.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The image can't be built.
    #[error(transparent)]
    Build(BuildError),
    /// The image differs from its source.
    #[error("the image was read back and is wrong; it was not put into place")]
    Verify(#[from] Mismatch),
    /// The hash tree can't be made or used.
    #[error(transparent)]
    Verity(#[from] VerityError),
    /// The root hash can't be signed.
    #[error("cannot sign the root hash")]
    Sign(#[from] SignError),
    /// The observer cancelled the work.
    #[error("cancelled")]
    Cancelled,
    /// An image can't be opened, or an inode of it can't be read.
    #[error(transparent)]
    Read(#[from] lith_reader::Error),
    /// The content of an image is not a valid tree.
    #[error(transparent)]
    Tree(#[from] ImageError),
    /// A tree can't be extracted.
    #[error(transparent)]
    Extract(#[from] ExtractError),
    /// An image can't be examined.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// An image can't be mounted.
    #[error("{}: cannot mount", directory.display())]
    Mount {
        /// The mount point.
        directory: PathBuf,
        /// The error of the operating system, or of `fusermount3`.
        source: io::Error,
    },
}

impl Error {
    /// The path of the file concerned: of the image, of the source, or in the tree, then without a leading slash.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Target { path, .. }
            | Self::Occupied(path)
            | Self::Layer { path, .. }
            | Self::Mount { directory: path, .. } => Some(path),
            Self::Source(error) => Some(error.path()),
            Self::Base(error) => Some(error.path()),
            Self::Build(error) => error.path(),
            Self::Verify(error) => error.path(),
            Self::Read(error) => error.path(),
            Self::Tree(error) => Some(error.path()),
            Self::Extract(error) => error.path(),
            Self::Unreadable(errors) => errors.first().map(ContentError::path),
            Self::Pattern(_)
            | Self::Unmatched(_)
            | Self::Edit(_)
            | Self::Check(_)
            | Self::Delta(_)
            | Self::Output(_)
            | Self::SourceIsRead
            | Self::Verity(_)
            | Self::Sign(_)
            | Self::Cancelled => None,
        }
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Cancelled => Self::Cancelled,
            error => Self::Build(error),
        }
    }
}
