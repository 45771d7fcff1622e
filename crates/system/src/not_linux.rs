//! Defines what systems do instead of what only Linux can do: nothing, or what their callers do without.

use std::{fs::File, io, path::Path};

pub(crate) fn will_need(_file: &File, _position: u64, _length: u64) {}

pub(crate) fn copy_range(_: &File, _: u64, _: (&File, u64), _: u64) -> io::Result<u64> {
    Ok(0)
}

pub(crate) fn kernel_release() -> Option<String> {
    None
}

pub(crate) fn next_data(_file: &File, _position: u64) -> io::Result<Option<u64>> {
    Ok(None)
}

pub(crate) fn next_hole(_file: &File, _position: u64) -> io::Result<Option<u64>> {
    Ok(None)
}

pub(crate) fn unnamed_file(_directory: &Path, _mode: u32) -> io::Result<Option<File>> {
    Ok(None)
}

pub(crate) fn give_name(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
