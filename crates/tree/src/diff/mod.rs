//! In what do two trees differ? Defines [`diff`], which compares names, attributes and content.

mod attributes;
mod change;
mod content;
mod error;
mod options;
mod pairs;
mod parallel;
mod walk;

use lith_observer::Observer;

use crate::Filesystem;
use pairs::Sides;

pub use change::{Aspects, Change, Difference};
pub use error::{DiffError, Side};
pub use options::DiffOptions;

/// Passes every difference between two trees to `visit`, in the order in which [`Tree::walk`](crate::Tree::walk) visits the
/// paths of both, whatever the number of workers.
///
/// Bytes of two regular files are compared if their sizes are equal; holes in both are skipped. `observer` gets the number of bytes
/// to compare, and those compared so far.
///
/// # Errors
/// [`DiffError`] if bytes can't be read or `observer` cancels; differences at preceding paths have been passed on.
pub fn diff(
    left: Filesystem<'_>,
    right: Filesystem<'_>,
    options: &DiffOptions,
    observer: &dyn Observer,
    visit: &mut (dyn FnMut(Difference) + Send),
) -> Result<(), DiffError> {
    parallel::compare(Sides { left, right }, options, observer, visit)
}

#[cfg(test)]
mod tests;
