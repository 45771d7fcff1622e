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

use std::{io, path::Path};

use lith_beneath::Root;
use rustix::{fs::fstat, io::Errno};

use crate::{Options, Source, SourceError, error::cannot, outputs::outputs_beneath};
use contents::DirectoryContents;
pub(crate) use contents::Folder;
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
