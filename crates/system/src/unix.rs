//! Defines what Unix systems have in common.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::unix::{ffi::OsStrExt, fs::FileExt},
    path::Path,
};

pub(crate) fn read_exact_at(file: &File, buf: &mut [u8], position: u64) -> io::Result<()> {
    file.read_exact_at(buf, position)
}

pub(crate) fn write_all_at(file: &File, buf: &[u8], position: u64) -> io::Result<()> {
    file.write_all_at(buf, position)
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere not all bytes are a path")]
pub(crate) fn path(bytes: &[u8]) -> Option<&Path> {
    Some(Path::new(OsStr::from_bytes(bytes)))
}

#[cfg(target_os = "linux")]
pub(crate) fn will_need(file: &File, position: u64, length: u64) {
    use rustix::fs::{Advice, fadvise};
    // Only a hint: what it doesn't fetch is read when it is requested.
    let _ = fadvise(file, position, std::num::NonZeroU64::new(length), Advice::WillNeed);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn will_need(_file: &File, _position: u64, _length: u64) {}

#[cfg(target_os = "linux")]
pub(crate) fn copy_range(
    from: &File,
    mut position: u64,
    (to, mut at): (&File, u64),
    len: u64,
) -> io::Result<u64> {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let copied = rustix::fs::copy_file_range(from, Some(&mut position), to, Some(&mut at), len)?;
    Ok(copied as u64)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn copy_range(_: &File, _: u64, _: (&File, u64), _: u64) -> io::Result<u64> {
    Ok(0)
}
