//! Extracts through descriptors of directories below the destination, which are opened without following symbolic links.

mod attributes;
mod destination;
mod directories;
mod entries;
mod extraction;
mod file;
mod place;
mod process;
mod workers;

use std::path::Path;

use lith_tree::Filesystem;

use super::{Existing, ExtractError, ExtractOptions, Owners, Permissions, plan};
use crate::{ExportObserver, Report, Selection, report::Counter};
use extraction::Extraction;
use plan::Plan;
use process::Process;

pub(super) fn extract(
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
