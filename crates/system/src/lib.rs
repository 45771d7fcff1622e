//! What do operating systems do in different ways?
//!
//! Images take little of an operating system: reads and writes at a position, names that are bytes, files without a name,
//! locks, the error numbers of Linux, the name of the architecture. These are here, with a file for each kind of system, so
//! that other crates have few conditions of their own: what reads a directory or extracts into one, and what only Linux has,
//! as mounts.
#![forbid(unsafe_code)]

mod architecture;
pub mod errno;

mod file;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod not_linux;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{
    ffi::OsString,
    fs::{File, FileType, Metadata, Permissions},
    io,
    path::{Path, PathBuf},
    process::Command,
};

#[cfg(target_os = "linux")]
use linux as own;
#[cfg(not(target_os = "linux"))]
use not_linux as own;
#[cfg(unix)]
use unix as kind;
#[cfg(windows)]
use windows as kind;

pub use architecture::architecture;
pub use file::{Lock, Status};

/// Reads and writes of a file at a position, which is as the standard library has it for Unix. On Windows, they move the
/// file's cursor.
pub trait FileAt {
    /// Reads bytes from `position` on, and returns how many there were.
    ///
    /// # Errors
    /// Those of the operating system.
    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize>;

    /// As [`read_exact_at`].
    ///
    /// # Errors
    /// As there.
    fn read_exact_at(&self, buf: &mut [u8], position: u64) -> io::Result<()>;

    /// As [`write_all_at`].
    ///
    /// # Errors
    /// As there.
    fn write_all_at(&self, buf: &[u8], position: u64) -> io::Result<()>;
}

impl FileAt for File {
    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        kind::read_at(self, buf, position)
    }

    fn read_exact_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        kind::read_exact_at(self, buf, position)
    }

    fn write_all_at(&self, buf: &[u8], position: u64) -> io::Result<()> {
        kind::write_all_at(self, buf, position)
    }
}

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

/// Whether an error is about what this process or system lacks, descriptors or memory, and so about no file.
#[must_use]
pub fn is_of_resources(error: &io::Error) -> bool {
    kind::is_of_resources(error)
}

/// A name or path of an image as one of this system, to be shown. Where names are not bytes, one that isn't UTF-8 is
/// [`NOT_UTF8`].
#[must_use]
pub fn path(bytes: &[u8]) -> &Path {
    path_of(bytes).unwrap_or(Path::new(NOT_UTF8))
}

/// A name or path of an image as one of this system, to be used; `None`: it has no such names.
#[must_use]
pub fn path_of(bytes: &[u8]) -> Option<&Path> {
    kind::path(bytes)
}

/// What is shown for names that aren't UTF-8 on systems that have none such.
pub const NOT_UTF8: &str = "(a name that isn't UTF-8)";

/// Tells the system that bytes of a file are going to be read soon, where it takes such hints.
pub fn will_need(file: &File, position: u64, length: u64) {
    own::will_need(file, position, length);
}

/// Copies bytes from one file to another within the system, and returns how many: at most `len`, 0 where it can't. On a
/// filesystem that shares extents, and from block to block of it, none are written: both files have them.
///
/// # Errors
/// Those of the operating system, also that it can't copy between these files.
pub fn copy_range(from: &File, position: u64, (to, at): (&File, u64), len: u64) -> io::Result<u64> {
    own::copy_range(from, position, (to, at), len)
}

/// The version of Linux that runs; `None`: another system does.
#[must_use]
pub fn kernel_release() -> Option<String> {
    own::kernel_release()
}

/// Where the next data of a file begin, from `position` on; [`u64::MAX`] if only a hole follows. `None`: the system or the
/// filesystem doesn't know.
///
/// # Errors
/// Those of the operating system.
pub fn next_data(file: &File, position: u64) -> io::Result<Option<u64>> {
    own::next_data(file, position)
}

/// Where the next hole of a file begins, as [`next_data`].
///
/// # Errors
/// Those of the operating system.
pub fn next_hole(file: &File, position: u64) -> io::Result<Option<u64>> {
    own::next_hole(file, position)
}

/// What the metadata of a file say.
#[must_use]
pub fn status(metadata: &Metadata) -> Status {
    kind::status(metadata)
}

/// Whether two paths lead to the same file.
#[must_use]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let (Ok(found), Ok(other_found)) = (one.metadata(), other.metadata()) else { return false };
    match (status(&found).id, status(&other_found).id) {
        (None, None) => one.canonicalize().ok() == other.canonicalize().ok(),
        (id, other_id) => id == other_id,
    }
}

/// The path without symbolic links of a file, which need not be there.
#[must_use]
pub fn real_path(path: &Path) -> Option<PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let new =
        || Some(parent.unwrap_or(Path::new(".")).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(new)
}

/// The names in a directory, in any order. What [`std::fs::read_dir`] returns panics if the directory can't be closed.
///
/// # Errors
/// Those of the operating system.
pub fn names(directory: &Path) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    kind::names(directory)
}

/// Whether an open file is a regular one. Windows doesn't describe all others: pipes have no attributes there.
///
/// # Errors
/// Those of the operating system.
pub fn is_regular(file: &File) -> io::Result<bool> {
    kind::is_regular(file)
}

/// Whether an open file is read once, from start to end: a pipe, a socket, a terminal. Where that can be determined, devices with
/// blocks and directories are not.
///
/// # Errors
/// Those of the operating system.
pub fn is_pipe(file: &File) -> io::Result<bool> {
    kind::is_pipe(file)
}

/// Whether a file is a block device.
#[must_use]
pub fn is_block_device(kind: FileType) -> bool {
    kind::is_block_device(kind)
}

/// The file that is standard input.
///
/// # Errors
/// Those of the operating system.
pub fn standard_input() -> io::Result<File> {
    kind::standard_input()
}

/// The file that is standard output.
///
/// # Errors
/// Those of the operating system.
pub fn standard_output() -> io::Result<File> {
    kind::standard_output()
}

/// A file without a name in a directory, open for reading and writing; `None`: the system or the filesystem knows no such
/// files.
///
/// # Errors
/// Those of the operating system.
pub fn unnamed_file(directory: &Path, mode: u32) -> io::Result<Option<File>> {
    own::unnamed_file(directory, mode)
}

/// Gives a file of [`unnamed_file`] a name.
///
/// # Errors
/// Those of the operating system, also that a file has that name.
pub fn give_name(file: &File, path: &Path) -> io::Result<()> {
    own::give_name(file, path)
}

/// Locks a file against those who lock it too. On Windows nobody has it alone.
///
/// # Errors
/// Those of the operating system, also that another process has a lock.
pub fn lock(file: &File, kind: Lock) -> io::Result<()> {
    kind::lock(file, kind)
}

/// Opens a file for reading, and perhaps for writing, without following a link and without waiting for anybody.
///
/// # Errors
/// Those of the operating system.
pub fn open_as_it_is(path: &Path, writes: bool) -> io::Result<File> {
    kind::open_as_it_is(path, writes)
}

/// Creates a directory, and those above it, for this user alone.
///
/// # Errors
/// Those of the operating system.
pub fn private_directories(path: &Path) -> io::Result<()> {
    kind::private_directories(path)
}

/// Permissions of these bits; `None`: this system has none such.
#[must_use]
pub fn permissions(mode: u32) -> Option<Permissions> {
    kind::permissions(mode)
}

/// Lets another program take the place of this one, and returns only if that fails. Where no program can do that, this one
/// waits for the other, and ends as it ended.
pub fn become_program(command: &mut Command) -> io::Error {
    kind::become_program(command)
}

/// Makes a symbolic link.
///
/// # Errors
/// Those of the operating system, also that it permits none to this user, or that the target is no path of it.
pub fn symlink(target: &[u8], link: &Path) -> io::Result<()> {
    kind::symlink(target, link)
}

/// Gives a new file the owner and mode of the old one, as far as the user may.
///
/// # Errors
/// Those of the operating system.
pub fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    kind::keep_owner_and_mode(file, old)
}

/// Bytes that the user may still write on the filesystem of a file; `None`: this system doesn't say.
///
/// # Errors
/// Those of the operating system.
pub fn free_space(file: &File) -> io::Result<Option<u64>> {
    kind::free_space(file)
}

/// Opens a directory for [`sync_directory`]; `None`: this system syncs none.
///
/// # Errors
/// Those of the operating system.
pub fn open_to_sync(directory: &Path) -> io::Result<Option<File>> {
    kind::open_to_sync(directory)
}

/// Waits until the names in a directory are on the disk, where the filesystem does that.
///
/// # Errors
/// Those of the operating system.
pub fn sync_directory(directory: &File) -> io::Result<()> {
    kind::sync_directory(directory)
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
    fn a_directory_has_the_names_of_its_entries() {
        let directory = tempfile::tempdir().unwrap();
        let expected = ["a", "b c", "ä"];
        for name in expected {
            File::create(directory.path().join(name)).unwrap();
        }
        let mut found: Vec<_> = names(directory.path()).unwrap().map(Result::unwrap).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
        let missing = names(&directory.path().join("none")).map(drop).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_no_regular_file() {
        let (reader, _writer) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(reader));
        assert!(!is_regular(&pipe).unwrap());
        assert!(is_pipe(&pipe).unwrap());
        assert!(is_regular(&tempfile::tempfile().unwrap()).unwrap());
        assert!(!is_pipe(&tempfile::tempfile().unwrap()).unwrap());
    }

    #[test]
    fn names_become_paths() {
        assert_eq!(path("dir/ä".as_bytes()), Path::new("dir/ä"));
        let odd = path(b"odd\xff");
        assert_eq!(odd.to_str().is_none(), cfg!(unix));
    }
}
