//! How does a tree become files in a directory, and nothing outside of it?
//!
//! First all directories are made, with permissions for their owner only. Then workers make the files in them; then come further
//! hard links. Last the directories get their own attributes, the deepest first, so that no preceding step needs or changes
//! these. Linux keeps everything; elsewhere is what the standard library can do.

#[cfg(any(not(target_os = "linux"), test))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod linux;
mod options;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "elsewhere each file is written by one worker")
)]
mod plan;

use std::path::Path;

use lith_tree::Filesystem;

use crate::{ExportObserver, Report, Selection};
#[cfg(not(target_os = "linux"))]
use elsewhere as own;
#[cfg(target_os = "linux")]
use linux as own;

pub use error::ExtractError;
pub use options::{Existing, ExtractOptions, Owners, Permissions};

/// Extracts the selected part of a tree into the directory `destination`, which is created if it doesn't exist.
///
/// What the process isn't permitted to set, or the system or filesystem can't store, is passed to `observer` and left out. After
/// an error what was extracted so far stays, but no half-written file.
///
/// # Errors
/// [`ExtractError`] names the path and the cause.
pub fn extract(
    fs: Filesystem<'_>,
    selection: &Selection,
    destination: &Path,
    options: &ExtractOptions,
    observer: &dyn ExportObserver,
) -> Result<Report, ExtractError> {
    own::extract(fs, selection, destination, options, observer)
}

#[cfg(test)]
mod tests;
