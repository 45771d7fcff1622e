//! Defines what Windows does, whose reads at a position move the file's cursor, and whose names are text.

use std::{
    ffi::OsString,
    fs::{self, File, FileType, Metadata, OpenOptions, Permissions},
    io,
    os::windows::{
        fs::{FileExt, symlink_dir, symlink_file},
        io::AsHandle,
    },
    path::Path,
    process::{self, Command},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::file::{Lock, Status};

pub(crate) fn read_at(file: &File, buf: &mut [u8], position: u64) -> io::Result<usize> {
    file.seek_read(buf, position)
}

pub(crate) fn is_of_resources(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
}

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

pub(crate) fn status(metadata: &Metadata) -> Status {
    let size = metadata.len();
    Status {
        is_file: metadata.is_file(),
        size,
        id: None,
        mtime: metadata.modified().map(since_epoch).unwrap_or_default(),
        ctime: (0, 0),
        allocated: size,
        links: 1,
        mode: None,
        owner: None,
    }
}

/// Seconds and nanoseconds since 1970; the latter count forwards before it, too.
fn since_epoch(time: SystemTime) -> (i64, u32) {
    let seconds = |seconds: u64| i64::try_from(seconds).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (seconds(after.as_secs()), after.subsec_nanos()),
        Err(error) => match error.duration() {
            before if before.subsec_nanos() == 0 => (-seconds(before.as_secs()), 0),
            before => (-seconds(before.as_secs()) - 1, 1_000_000_000 - before.subsec_nanos()),
        },
    }
}

pub(crate) fn names(directory: &Path) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    Ok(fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())))
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
pub(crate) fn is_regular(file: &File) -> io::Result<bool> {
    Ok(file.metadata().is_ok_and(|found| found.is_file()))
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
pub(crate) fn is_pipe(file: &File) -> io::Result<bool> {
    // The attributes of a pipe are an error there.
    Ok(file.metadata().is_err())
}

pub(crate) fn is_block_device(_kind: FileType) -> bool {
    false
}

pub(crate) fn standard_input() -> io::Result<File> {
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

pub(crate) fn standard_output() -> io::Result<File> {
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

pub(crate) fn lock(_file: &File, kind: Lock) -> io::Result<()> {
    match kind {
        Lock::AtOnce => Err(io::ErrorKind::Unsupported.into()),
        Lock::Shared | Lock::Nothing => Ok(()),
    }
}

pub(crate) fn open_as_it_is(path: &Path, writes: bool) -> io::Result<File> {
    if path.symlink_metadata()?.is_symlink() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    OpenOptions::new().read(true).write(writes).open(path)
}

pub(crate) fn private_directories(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

pub(crate) fn permissions(_mode: u32) -> Option<Permissions> {
    None
}

pub(crate) fn become_program(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

/// Windows distinguishes links to directories, which must be there already.
pub(crate) fn symlink(target: &[u8], link: &Path) -> io::Result<()> {
    let target = std::str::from_utf8(target).map_err(io::Error::other)?.replace('/', r"\");
    let is_directory = link.parent().is_some_and(|directory| directory.join(&target).is_dir());
    if is_directory { symlink_dir(target, link) } else { symlink_file(target, link) }
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
pub(crate) fn keep_owner_and_mode(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
pub(crate) fn open_to_sync(_directory: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
pub(crate) fn free_space(_file: &File) -> io::Result<Option<u64>> {
    Ok(None)
}

pub(crate) fn sync_directory(_directory: &File) -> io::Result<()> {
    Ok(())
}
