//! Opens the directory into which a tree is extracted.

use std::{fs, io, path::Path};

use lith_beneath::Root;
use rustix::{fs::Dir, io::Errno};

use super::{Existing, ExtractError};

/// Opens the destination, which is created if it doesn't exist, and returns whether it was created. Its own path may contain
/// symbolic links.
pub(super) fn open(path: &Path, existing: Existing) -> Result<(Root, bool), ExtractError> {
    let error = |action| {
        let path = path.to_owned();
        move |source| ExtractError::Io { path, action, source }
    };
    let is_new = make(path).map_err(error("create"))?;
    let root = Root::open(path).map_err(io::Error::from).map_err(error("open"))?;
    if existing == Existing::Refuse
        && !is_empty(&root).map_err(io::Error::from).map_err(error("read"))?
    {
        return Err(ExtractError::NotEmpty(path.to_owned()));
    }
    Ok((root.confined(), is_new))
}

/// Creates a directory and those above it; false if it exists.
fn make(path: &Path) -> io::Result<bool> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs::create_dir_all(parent)?,
        _ => {}
    }
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_empty(directory: &Root) -> Result<bool, Errno> {
    for entry in Dir::read_from(directory)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}
