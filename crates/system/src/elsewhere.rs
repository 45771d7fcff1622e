//! Defines what systems other than Unix do: Windows, whose reads at a position move the file's cursor, and whose names are
//! text.

use std::{fs::File, io, path::Path};

#[cfg(windows)]
use std::os::windows::fs::FileExt;

#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut buf: &mut [u8], mut position: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match file.seek_read(buf, position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buf = buf.get_mut(read..).unwrap_or_default();
                position = position.saturating_add(read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(windows)]
pub(crate) fn write_all_at(file: &File, mut buf: &[u8], mut position: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match file.seek_write(buf, position) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                buf = buf.get(written..).unwrap_or_default();
                position = position.saturating_add(written as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) fn path(bytes: &[u8]) -> Option<&Path> {
    std::str::from_utf8(bytes).ok().map(Path::new)
}

pub(crate) fn will_need(_file: &File, _position: u64, _length: u64) {}

pub(crate) fn copy_range(_: &File, _: u64, _: (&File, u64), _: u64) -> io::Result<u64> {
    Ok(0)
}
