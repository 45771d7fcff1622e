//! Converts paths of a tree to paths of the system.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

/// Makes a path of its bytes.
pub(crate) fn to_path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}
