//! How do a tree's paths become those of the system?

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

/// Takes the bytes of a path.
pub(crate) fn to_path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}
