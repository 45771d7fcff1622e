//! How does a directory on disk become a tree?
//!
//! Directories are listed by a few threads, each in one go: names, then one `stat` and one `listxattr` a
//! file. When all are listed the tree is made from them in the order of its walk, so that nothing
//! depends on the threads or on the order in which the filesystem lists names.

mod assemble;
mod beneath;
mod contents;
mod queue;
mod scan;
mod xattrs;

use std::{io, path::Path};

use rustix::{fs::fstat, io::Errno};

use crate::{Options, Source, SourceError, open::cannot};
use beneath::Root;
use contents::DirectoryContents;

/// Reads the tree below the directory at `path`, other filesystems mounted there included.
///
/// # Errors
/// [`SourceError`] names the file that could not be read, or vanished while the others were.
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
