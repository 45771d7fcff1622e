//! Defines the errors of this crate.

use std::{io, path::PathBuf};

use lith_survey::{Allowance, Grant};

/// Why the facts about an image could not be gathered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FactsError {
    /// A part of it is corrupt or can't be read.
    #[error(transparent)]
    Read(#[from] lith_reader::Error),
    /// It refers to the same bytes again and again, as no sound image does.
    #[error("its {what} overlap so much that the rest is not read")]
    WorkLimit {
        /// The structures of which there are too many.
        what: &'static str,
    },
}

/// Takes `units` for `what` of an allowance.
pub(crate) fn take(
    allowance: &mut Allowance,
    units: u64,
    what: &'static str,
) -> Result<(), FactsError> {
    match allowance.take(units) {
        Grant::Given => Ok(()),
        Grant::FirstRefusal | Grant::Refused => Err(FactsError::WorkLimit { what }),
    }
}

/// Why two images could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// A part of an image is corrupt or can't be read.
    #[error("{}", path.display())]
    Facts {
        /// The image.
        path: PathBuf,
        /// What could not be gathered.
        source: FactsError,
    },
    /// A file of an image can't be found again.
    #[error("{}", path.display())]
    Read {
        /// The image.
        path: PathBuf,
        /// What could not be read.
        source: lith_reader::Error,
    },
    /// An image holds no valid tree.
    #[error(transparent)]
    Source(#[from] lith_source::ImageError),
    /// The bytes of a file can't be compared, or the observer cancelled.
    #[error(transparent)]
    Diff(#[from] lith_tree::DiffError),
}

/// Why the size of an image with other options could not be estimated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The image holds no valid tree.
    #[error(transparent)]
    Source(#[from] lith_source::ImageError),
    /// The sample can't be built.
    #[error(transparent)]
    Build(#[from] lith_builder::BuildError),
    /// The stored size of the sample can't be determined.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// A file of the sample can't be found in the image.
    #[error(transparent)]
    Read(#[from] lith_reader::Error),
    /// A temporary file can't be created.
    #[error("{}: cannot create temporary data", folder.display())]
    Temporary {
        /// The directory for temporary files.
        folder: PathBuf,
        /// The failed call.
        source: io::Error,
    },
}
