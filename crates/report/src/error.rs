//! Why is there no report?

use std::{io, path::PathBuf};

/// Why the facts about an image can't be told.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// A part of it can't be read, or makes no sense.
    #[error(transparent)]
    Read(#[from] lith_reader::Error),
    /// It refers to the same bytes again and again, as no sound image does.
    #[error("its {what} overlap so much that they are not looked at any further")]
    WorkLimit {
        /// What there is too much of.
        what: &'static str,
    },
}

/// Why the size that an image would have can't be told.
#[derive(Debug, thiserror::Error)]
pub enum EstimateError {
    /// The image is no tree.
    #[error(transparent)]
    Source(#[from] lith_source::ImageError),
    /// A sample of it can't be built in another way.
    #[error(transparent)]
    Build(#[from] lith_builder::BuildError),
    /// What a sample takes in the image can't be told.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// A file of the sample can't be found in the image.
    #[error(transparent)]
    Read(#[from] lith_reader::Error),
    /// There is no room for temporary data.
    #[error("{}: cannot create temporary data", folder.display())]
    Temporary {
        /// Where it should be.
        folder: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The page's template does not suit what it is given.
    #[error("the page cannot be made")]
    Template(#[from] minijinja::Error),
}
