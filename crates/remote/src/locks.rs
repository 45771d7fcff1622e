//! Locks parts of a file for one of several processes.

use std::{fs::File, ops::Range, os::fd::AsFd};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, fcntl},
    libc,
};

/// Locks bytes, counted from `base`; `false`: another process has some of them. Where the filesystem has no locks, nobody has.
pub(crate) fn take(file: &File, base: u64, bytes: &Range<u64>) -> bool {
    set(file, libc::F_WRLCK, base, bytes)
}

/// Gives them back.
pub(crate) fn release(file: &File, base: u64, bytes: &Range<u64>) {
    set(file, libc::F_UNLCK, base, bytes);
}

/// Where the lock of another process begins.
pub(crate) fn conflict(file: &File, base: u64, bytes: &Range<u64>) -> Option<u64> {
    let mut lock = place(libc::F_WRLCK, base, bytes)?;
    fcntl(file.as_fd(), FcntlArg::F_OFD_GETLK(&mut lock)).ok()?;
    let is_free = libc::c_int::from(lock.l_type) == libc::F_UNLCK;
    let start = u64::try_from(lock.l_start).unwrap_or(0).saturating_sub(base);
    (!is_free).then_some(start)
}

fn set(file: &File, kind: libc::c_int, base: u64, bytes: &Range<u64>) -> bool {
    let Some(lock) = place(kind, base, bytes) else { return true };
    !matches!(fcntl(file.as_fd(), FcntlArg::F_OFD_SETLK(&lock)), Err(Errno::EAGAIN | Errno::EACCES))
}

/// The lock of bytes; `None`: there are none.
fn place(kind: libc::c_int, base: u64, bytes: &Range<u64>) -> Option<libc::flock> {
    let length = bytes.end.checked_sub(bytes.start).filter(|length| *length > 0)?;
    Some(libc::flock {
        l_type: kind.try_into().ok()?,
        l_whence: libc::SEEK_SET.try_into().ok()?,
        l_start: base.checked_add(bytes.start)?.try_into().ok()?,
        l_len: length.try_into().ok()?,
        l_pid: 0,
    })
}
