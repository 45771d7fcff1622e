//! What do operating systems do in different ways?
//!
//! Reading an image takes little of an operating system: reads and writes at a position, names that are bytes, the error
//! numbers of Linux, and the name of the architecture. These are here, with a file for each kind of system, so that the crates that read images have no
//! conditions of their own.
#![forbid(unsafe_code)]

mod architecture;
pub mod errno;

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

use std::{fs::File, io, path::Path};

pub use architecture::architecture;

#[cfg(not(unix))]
use elsewhere as kind;
#[cfg(unix)]
use unix as kind;

/// Fills `buf` with the bytes of a file from `position` on. On Windows, this moves the file's cursor.
///
/// # Errors
/// Those of the operating system; [`io::ErrorKind::UnexpectedEof`] if the file ends before.
pub fn read_exact_at(file: &File, buf: &mut [u8], position: u64) -> io::Result<()> {
    kind::read_exact_at(file, buf, position)
}

/// Writes all of `buf` into a file from `position` on. On Windows, this moves the file's cursor.
///
/// # Errors
/// Those of the operating system.
pub fn write_all_at(file: &File, buf: &[u8], position: u64) -> io::Result<()> {
    kind::write_all_at(file, buf, position)
}

/// A name or path of an image as one of this system, to be shown. Where names are not bytes, one that isn't UTF-8 is
/// [`NOT_UTF8`].
#[must_use]
pub fn path(bytes: &[u8]) -> &Path {
    kind::path(bytes).unwrap_or(Path::new(NOT_UTF8))
}

/// What is shown for names that aren't UTF-8 on systems that have none such.
pub const NOT_UTF8: &str = "(a name that isn't UTF-8)";

/// Tells the system that bytes of a file are going to be read soon, where it takes such hints.
pub fn will_need(file: &File, position: u64, length: u64) {
    kind::will_need(file, position, length);
}

/// Copies bytes from one file to another within the system, and returns how many: at most `len`, 0 where it can't. On a
/// filesystem that shares extents, and from block to block of it, none are written: both files have them.
///
/// # Errors
/// Those of the operating system, also that it can't copy between these files.
pub fn copy_range(from: &File, position: u64, (to, at): (&File, u64), len: u64) -> io::Result<u64> {
    kind::copy_range(from, position, (to, at), len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_written_at_positions() {
        let file = tempfile::tempfile().unwrap();
        write_all_at(&file, b"56789", 5).unwrap();
        write_all_at(&file, b"01234", 0).unwrap();
        will_need(&file, 2, 4);
        let mut buf = [0; 4];
        read_exact_at(&file, &mut buf, 3).unwrap();
        assert_eq!(&buf, b"3456");
        let past = read_exact_at(&file, &mut buf, 8).unwrap_err();
        assert_eq!(past.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn names_become_paths() {
        assert_eq!(path("dir/ä".as_bytes()), Path::new("dir/ä"));
        let odd = path(b"odd\xff");
        assert_eq!(odd.to_str().is_none(), cfg!(unix));
    }
}
