//! How does a directory on disk become a tree?
//!
//! A few threads list directories: all names, then one `stat` and one `listxattr` for each file. When all are listed the tree is
//! assembled in the order of its walk, so that the result depends neither on the threads nor on the order in which the
//! filesystem lists names.

mod assemble;
mod beneath;
mod contents;
mod queue;
mod scan;
mod xattrs;

use std::{io, path::Path};

use rustix::{fs::fstat, io::Errno};

use crate::{Options, Source, SourceError, error::cannot};
use beneath::Root;
use contents::DirectoryContents;

/// Reads the tree below the directory at `path`, other filesystems mounted there included.
///
/// # Errors
/// [`SourceError`] names the file that can't be read, or was removed meanwhile.
pub fn directory(path: &Path, options: &Options) -> Result<Source, SourceError> {
    let refused = |action| move |errno: Errno| cannot(action, path)(io::Error::from(errno));
    let root = Root::open(path).map_err(refused("open"))?;
    let stat = fstat(&root).map_err(refused("read the attributes"))?;
    let (listings, notes) = queue::scan_all(&root, options)?;
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
