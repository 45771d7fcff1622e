//! Joins and converts paths of a tree.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

/// The path of a name in a directory of that path.
pub(super) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = directory.to_vec();
    lith_tree::push_name(&mut path, name);
    path
}

pub(super) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
