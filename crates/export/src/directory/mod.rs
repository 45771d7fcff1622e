//! How does a tree become files in a directory, and nothing outside of it?
//!
//! First all directories are made, with permissions for their owner only. Then workers make the files in them; then come further
//! hard links. Last the directories get their own attributes, the deepest first, so that no preceding step needs or changes
//! these. Everything is reached through descriptors of directories below the destination, which are opened without
//! following symbolic links.

mod attributes;
mod destination;
mod directories;
mod entries;
mod error;
mod extraction;
mod file;
mod options;
mod place;
mod plan;
mod process;
mod workers;

use std::path::Path;

use lith_tree::Filesystem;

use crate::{ExportObserver, Report, Selection, report::Counter};
use extraction::Extraction;
use plan::Plan;
use process::Process;

pub use error::ExtractError;
pub use options::{Existing, ExtractOptions, Owners, Permissions};

/// Extracts the selected part of a tree into the directory `destination`, which is created if it doesn't exist.
///
/// What the process isn't permitted to set, or the filesystem can't store, is passed to `observer` and left out. After
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
    let (destination, is_new) = destination::open(destination, options.existing)?;
    let extraction = Extraction {
        fs,
        options: *options,
        process: Process::new(options),
        destination,
        counter: Counter::start(observer, fs.tree, selection),
    };
    let mut plan = Plan::new(fs, selection);
    directories::make(&extraction, &mut plan, is_new)?;
    workers::run(&extraction, &plan)?;
    entries::make_links(&extraction, &plan)?;
    directories::finish(&extraction, &plan)?;
    Ok(extraction.counter.report())
}

#[cfg(test)]
mod tests;
