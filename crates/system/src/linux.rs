//! Defines what only Linux can do.

use std::{
    fs::File,
    io,
    num::NonZeroU64,
    os::fd::{AsFd, AsRawFd},
    path::Path,
};

use rustix::{
    fs::{
        Advice, AtFlags, CWD, Mode, OFlags, SeekFrom, copy_file_range, fadvise, linkat, open, seek,
    },
    io::Errno,
    system::uname,
};

pub(crate) fn will_need(file: &File, position: u64, length: u64) {
    // Only a hint: what it doesn't fetch is read when it is requested.
    let _ = fadvise(file, position, NonZeroU64::new(length), Advice::WillNeed);
}

pub(crate) fn copy_range(
    from: &File,
    mut position: u64,
    (to, mut at): (&File, u64),
    len: u64,
) -> io::Result<u64> {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let copied = copy_file_range(from, Some(&mut position), to, Some(&mut at), len)?;
    Ok(copied as u64)
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
pub(crate) fn kernel_release() -> Option<String> {
    Some(uname().release().to_string_lossy().into_owned())
}

pub(crate) fn next_data(file: &File, position: u64) -> io::Result<Option<u64>> {
    find(file, SeekFrom::Data(position))
}

pub(crate) fn next_hole(file: &File, position: u64) -> io::Result<Option<u64>> {
    find(file, SeekFrom::Hole(position))
}

fn find(file: &File, target: SeekFrom) -> io::Result<Option<u64>> {
    match seek(file, target) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NXIO) => Ok(Some(u64::MAX)),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

pub(crate) fn unnamed_file(directory: &Path, mode: u32) -> io::Result<Option<File>> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match open(directory, flags, Mode::from_raw_mode(mode)) {
        Ok(fd) => Ok(Some(fd.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

pub(crate) fn give_name(file: &File, path: &Path) -> io::Result<()> {
    let nameless = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    Ok(linkat(CWD, &nameless, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}
