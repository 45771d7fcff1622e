//! In what do two trees differ?

mod attributes;
mod change;
mod content;
mod pairs;
mod parallel;

use std::num::NonZeroUsize;

use crate::{ContentError, Filesystem};

pub use change::{Aspects, Change, Difference};

/// How two trees are compared.
#[derive(Clone, Copy, Debug)]
pub struct DiffOptions {
    /// What may differ without being told.
    pub ignore: Aspects,
    /// How many threads read and compare contents.
    pub workers: NonZeroUsize,
}

impl Default for DiffOptions {
    /// Nothing ignored, one thread.
    fn default() -> Self {
        Self { ignore: Aspects::empty(), workers: NonZeroUsize::MIN }
    }
}

/// One of the two trees that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first one given.
    Left,
    /// The second one given.
    Right,
}

/// Why two trees can't be compared to the end.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// Bytes of a file of the first tree can't be had.
    #[error("in the first tree")]
    Left(#[source] ContentError),
    /// Bytes of a file of the second tree can't be had.
    #[error("in the second tree")]
    Right(#[source] ContentError),
}

impl DiffError {
    const fn new(side: Side, error: ContentError) -> Self {
        match side {
            Side::Left => Self::Left(error),
            Side::Right => Self::Right(error),
        }
    }

    /// Which tree it is about.
    #[must_use]
    pub const fn side(&self) -> Side {
        match self {
            Self::Left(_) => Side::Left,
            Self::Right(_) => Side::Right,
        }
    }
}

/// Tells every difference between two trees to `visit`, in the order in which [`Tree::walk`](crate::Tree::walk) would meet the
/// paths of both, whatever the number of workers.
///
/// Bytes of two regular files are compared if their sizes are equal; holes in both are skipped.
///
/// # Errors
/// [`DiffError`] if bytes can't be read; all differences at paths before that one have been told.
pub fn diff(
    left: Filesystem<'_>,
    right: Filesystem<'_>,
    options: &DiffOptions,
    visit: &mut (dyn FnMut(Difference) + Send),
) -> Result<(), DiffError> {
    parallel::compare(left, right, options, visit)
}

#[cfg(test)]
mod tests;
