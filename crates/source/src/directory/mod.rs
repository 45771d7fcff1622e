//! How does a directory on disk become a tree?
//!
//! A few threads list directories: all names, then one `stat` and one `listxattr` for each file. When all are listed the tree is
//! assembled in the order of its walk, so that the result depends neither on the threads nor on the order in which the
//! filesystem lists names.

mod assemble;
mod contents;
mod queue;
mod scan;
mod xattrs;

use std::{
    collections::HashSet,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use lith_beneath::Root;
use rustix::{fs::fstat, io::Errno};

use crate::{Options, Source, SourceError, error::cannot};
use contents::DirectoryContents;
pub(crate) use contents::{Folder, Found};
use scan::Rules;

/// Reads the tree below the directory at `path`, other filesystems mounted there included unless the options say otherwise.
///
/// # Errors
/// [`SourceError`] names the files that can't be read, or were removed meanwhile.
pub fn directory(path: &Path, options: &Options) -> Result<Source, SourceError> {
    let refused = |action| move |errno: Errno| cannot(action, path)(io::Error::from(errno));
    let root = Root::open(path).map_err(refused("open"))?;
    let stat = fstat(&root).map_err(refused("read the attributes"))?;
    let rules = Rules {
        root: &root,
        options,
        outputs: outputs_beneath(path, options),
        device: options.one_file_system.then_some(stat.st_dev),
        checks_access: !rustix::process::geteuid().is_root(),
    };
    let (listings, notes) = queue::scan_all(&rules)?;
    let (tree, seen) =
        assemble::assemble(scan::metadata(&stat), listings).map_err(|(at, source)| {
            let path = root.full_path(&at);
            SourceError::Tree { path, source }
        })?;
    Ok(Source {
        tree,
        contents: Box::new(DirectoryContents::new(root, seen)),
        notes: notes.into_vec(),
    })
}

/// The paths from the root of a directory of the files below it that are about to be made.
fn outputs_beneath(root: &Path, options: &Options) -> HashSet<Box<[u8]>> {
    let Ok(root) = fs::canonicalize(root) else { return HashSet::new() };
    let outputs = options.outputs.iter().filter_map(|output| real_path(output));
    let beneath = outputs.filter_map(|path| {
        let path = path.strip_prefix(&root).ok()?;
        Some(path.as_os_str().as_bytes().into())
    });
    beneath.collect()
}

/// The path without symbolic links of a file, which need not be there.
fn real_path(path: &Path) -> Option<PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let new =
        || Some(fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(new)
}
