//! Defines what Unix systems have in common.

use std::{
    ffi::{OsStr, OsString},
    fs::{DirBuilder, File, FileType, Metadata, OpenOptions, Permissions},
    io,
    os::{
        fd::AsFd,
        unix::{
            ffi::{OsStrExt, OsStringExt},
            fs::{
                DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt,
                fchown,
            },
            process::CommandExt,
        },
    },
    path::Path,
    process::Command,
};

use rustix::{
    fs::{Dir, FlockOperation, Mode, OFlags, flock, open},
    io::Errno,
};

use crate::file::{Lock, Status};

pub(crate) fn read_at(file: &File, buf: &mut [u8], position: u64) -> io::Result<usize> {
    file.read_at(buf, position)
}

pub(crate) fn is_of_resources(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

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

pub(crate) fn status(metadata: &Metadata) -> Status {
    // A filesystem in user space may report any number.
    let nanoseconds = |nsec: i64| u32::try_from(nsec).unwrap_or(0);
    Status {
        is_file: metadata.is_file(),
        size: u64::try_from(metadata.size().cast_signed()).unwrap_or(0),
        id: Some((metadata.dev(), metadata.ino())),
        mtime: (metadata.mtime(), nanoseconds(metadata.mtime_nsec())),
        ctime: (metadata.ctime(), nanoseconds(metadata.ctime_nsec())),
        allocated: metadata.blocks().saturating_mul(512),
        links: metadata.nlink(),
        mode: Some(metadata.mode()),
        owner: Some((metadata.uid(), metadata.gid())),
    }
}

pub(crate) fn names(directory: &Path) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = Dir::new(open(directory, flags, Mode::empty())?)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_bytes().to_owned()));
    let is_own = |name: &io::Result<Vec<u8>>| !matches!(name.as_deref(), Ok(b"." | b".."));
    Ok(names.filter(is_own).map(|name| name.map(OsString::from_vec)))
}

pub(crate) fn is_regular(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.is_file())
}

pub(crate) fn is_pipe(file: &File) -> io::Result<bool> {
    let kind = file.metadata()?.file_type();
    Ok(!kind.is_file() && !kind.is_dir() && !kind.is_block_device())
}

pub(crate) fn is_block_device(kind: FileType) -> bool {
    kind.is_block_device()
}

pub(crate) fn standard_input() -> io::Result<File> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

pub(crate) fn standard_output() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

pub(crate) fn lock(file: &File, kind: Lock) -> io::Result<()> {
    Ok(flock(
        file,
        match kind {
            Lock::Shared => FlockOperation::LockShared,
            Lock::AtOnce => FlockOperation::NonBlockingLockExclusive,
            Lock::Nothing => FlockOperation::Unlock,
        },
    )?)
}

pub(crate) fn open_as_it_is(path: &Path, writes: bool) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).write(writes).custom_flags(flags).open(path)
}

pub(crate) fn private_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
pub(crate) fn permissions(mode: u32) -> Option<Permissions> {
    Some(Permissions::from_mode(mode))
}

pub(crate) fn become_program(command: &mut Command) -> io::Error {
    command.exec()
}

pub(crate) fn symlink(target: &[u8], link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(OsStr::from_bytes(target), link)
}

pub(crate) fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    let own_group = file.metadata()?.gid();
    let mut mode = old.mode() & 0o777;
    let is_owned = fchown(file, Some(old.uid()), Some(old.gid())).is_ok();
    if !is_owned && own_group != old.gid() && fchown(file, None, Some(old.gid())).is_err() {
        // Another group may not do more than everyone.
        mode = mode & 0o707 | (mode & 0o007) << 3;
    }
    match file.set_permissions(Permissions::from_mode(mode)) {
        // Some filesystems have no modes.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        changed => changed,
    }
}

pub(crate) fn open_to_sync(directory: &Path) -> io::Result<Option<File>> {
    File::open(directory).map(Some)
}

pub(crate) fn free_space(file: &File) -> io::Result<Option<u64>> {
    let space = rustix::fs::fstatvfs(file)?;
    // Some filesystems, by FUSE or a network, know no sizes.
    Ok((space.f_blocks > 0).then(|| space.f_bavail.saturating_mul(space.f_frsize)))
}

pub(crate) fn sync_directory(directory: &File) -> io::Result<()> {
    match rustix::fs::fsync(directory) {
        // Some filesystems sync no directories.
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        synced => Ok(synced?),
    }
}
