//! How does a tree become files in a directory, and nothing outside of it?
//!
//! First all directories are made, open to their owner only; then workers fill them with files; then come further
//! hard links; and last the directories get their own attributes, from the deepest up, so that none of
//! the steps before needs or changes them. Nothing is ever reached but through descriptors of directories below
//! the destination, opened without following a symbolic link.

mod attributes;
mod beneath;
mod directories;
mod entries;
mod file;
mod plan;
mod workers;

use std::{
    io,
    num::NonZeroUsize,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use lith_tree::{ContentError, Filesystem};
use rustix::io::Errno;

use crate::{Observer, Report, Selection, observer::Counter};
use attributes::Process;
use beneath::Beneath;
use plan::Plan;

/// How a tree is extracted.
#[derive(Clone, Copy, Debug)]
pub struct ExtractOptions {
    /// What may be in the destination before.
    pub existing: Existing,
    /// Whose the files become.
    pub owners: Owners,
    /// Which permission bits files get.
    pub permissions: Permissions,
    /// Whether extended attributes are extracted.
    pub xattrs: bool,
    /// How many threads write files.
    pub workers: NonZeroUsize,
}

impl Default for ExtractOptions {
    /// Into an empty directory, with all attributes that the process may set, in one thread.
    fn default() -> Self {
        Self {
            existing: Existing::default(),
            owners: Owners::default(),
            permissions: Permissions::default(),
            xattrs: true,
            workers: NonZeroUsize::MIN,
        }
    }
}

/// What may be in the destination before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Existing {
    /// Nothing: the destination is made, or is an empty directory.
    #[default]
    Refuse,
    /// Directories, which are filled up; anything else of a name that is extracted is an error.
    Fill,
    /// Anything: directories are filled up, all else is removed when something of the same name is extracted, never
    /// written through. A directory is not removed: where a file should go, it is an error.
    Overwrite,
}

/// Whose extracted files become.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Owners {
    /// The tree's for root, the process's own for anyone else.
    #[default]
    Auto,
    /// The tree's; the observer is told where that isn't permitted.
    Keep,
    /// The process's own.
    Own,
}

/// Which permission bits extracted files get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Permissions {
    /// The tree's.
    #[default]
    Keep,
    /// Those of the tree that the process's umask leaves.
    Masked,
}

/// Why a tree can't be extracted.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// The destination has entries already.
    #[error("{}: not empty", .0.display())]
    NotEmpty(PathBuf),
    /// A directory stands where a file should go.
    #[error("{}: a directory is in the way of a file", .0.display())]
    InTheWay(PathBuf),
    /// The operating system refused something in the destination.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The place in the destination.
        path: PathBuf,
        /// What was tried, as `create` or `write`.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file's bytes can't be had.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The observer asked to give up.
    #[error("cancelled")]
    Cancelled,
}

/// Extracts the selected part of a tree into the directory `destination`, which is made if it isn't there.
///
/// What the process isn't permitted to set, or the filesystem can't keep, is told to `observer` and left out. After
/// an error what was extracted so far stays, but no file is left half written.
///
/// # Errors
/// [`ExtractError`] names the place and the cause.
pub fn extract(
    fs: Filesystem<'_>,
    selection: &Selection,
    destination: &Path,
    options: &ExtractOptions,
    observer: &dyn Observer,
) -> Result<Report, ExtractError> {
    let (beneath, is_new) = Beneath::open(destination, options.existing)?;
    let extraction = Extraction {
        fs,
        options: *options,
        process: Process::new(options),
        beneath,
        counter: Counter::new(observer),
    };
    let mut plan = Plan::new(fs.tree, selection);
    directories::make(&extraction, &mut plan, is_new)?;
    workers::run(&extraction, &plan)?;
    entries::make_links(&extraction, &plan)?;
    directories::finish(&extraction, &plan)?;
    Ok(extraction.counter.report())
}

/// What all steps of one extraction use.
struct Extraction<'a> {
    fs: Filesystem<'a>,
    options: ExtractOptions,
    process: Process,
    beneath: Beneath,
    counter: Counter<'a>,
}

impl Extraction<'_> {
    /// What the operating system said when `action` was tried at a path of the tree.
    fn error(&self, action: &'static str, path: &[u8], errno: Errno) -> ExtractError {
        self.io_error(action, path, errno.into())
    }

    fn io_error(&self, action: &'static str, path: &[u8], source: io::Error) -> ExtractError {
        let path = self.place(path);
        ExtractError::Io { path, action, source }
    }

    fn place(&self, path: &[u8]) -> PathBuf {
        self.beneath.place(path)
    }

    fn check_cancelled(&self) -> Result<(), ExtractError> {
        if self.counter.observer.is_cancelled() {
            return Err(ExtractError::Cancelled);
        }
        Ok(())
    }
}

/// The path of a name in a directory of that path.
fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    match directory {
        [] => name.to_vec(),
        _ => [directory, name].join(&b'/'),
    }
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests;
