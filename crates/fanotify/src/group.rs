//! Defines [`Group`], which receives events of one mount.

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::Path,
};

use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use rustix::{fs::CWD, io::Errno};

use crate::event::{RANGES, RawEvent};

/// `FAN_ALLOW`.
const ALLOW: u32 = 1;
/// `FAN_DENY_ERRNO(EIO)`; the kernels with `FAN_PRE_ACCESS` have it.
const DENY: u32 = 2 | 5 << 24;
/// Bytes for events of one call, which are about 48 each.
const BUFFER: usize = 4096;

/// A group that receives an event before bytes are read by way of one mount. Other mounts of the same file have none, so
/// that whoever fills the file reads and writes it freely.
#[derive(Debug)]
pub struct Group(OwnedFd);

impl Group {
    /// A group that watches the mount of a path. Needs `CAP_SYS_ADMIN`, Linux 6.14, and a filesystem with such events: ext4,
    /// XFS, btrfs.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn watching(path: &Path) -> io::Result<Self> {
        let flags = InitFlags::FAN_CLASS_PRE_CONTENT
            | InitFlags::FAN_CLOEXEC
            | InitFlags::FAN_NONBLOCK
            | InitFlags::FAN_UNLIMITED_QUEUE;
        let files = EventFFlags::O_RDONLY | EventFFlags::O_CLOEXEC | EventFFlags::O_LARGEFILE;
        let fanotify = Fanotify::init(flags, files)?;
        let (add, mask) = (MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_MOUNT, RANGES);
        fanotify.mark(add, MaskFlags::from_bits_retain(mask), CWD, Some(path))?;
        Ok(Self(fanotify.into()))
    }

    /// One that another process has made.
    #[must_use]
    pub const fn inherited(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// A further descriptor of it.
    ///
    /// # Errors
    /// Those of dup(2).
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// Whether what it watches is still in use.
    ///
    /// # Errors
    /// Those of reading `/proc`.
    pub fn is_watching(&self) -> io::Result<bool> {
        let marks = fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0.as_raw_fd()))?;
        Ok(marks.lines().any(|line| line.starts_with("fanotify mnt_id:")))
    }

    /// Some events that there are. Each has to be answered.
    pub(crate) fn events(&self) -> io::Result<Vec<RawEvent>> {
        let mut buffer = [0; BUFFER];
        let read = match rustix::io::read(&self.0, &mut buffer) {
            Ok(read) => read,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Vec::new()),
            Err(errno) => return Err(errno.into()),
        };
        let mut events = Vec::new();
        let mut rest = buffer.get(..read).unwrap_or_default();
        while let Some(event) = RawEvent::parse(rest) {
            rest = rest.get(event.bytes.max(1)..).unwrap_or_default();
            events.push(event);
        }
        Ok(events)
    }

    /// Answers an event of this process: the reader reads, or gets `EIO`.
    pub(crate) fn answer(&self, fd: i32, is_there: bool) -> io::Result<()> {
        let answered = self.write(fd, is_there);
        // The event is answered, whatever becomes of the descriptor.
        let _closed = nix::unistd::close(fd);
        answered
    }

    /// Answers what a process has received that is dead now, with `EIO`: its descriptors were less than a number.
    pub(crate) fn deny_below(&self, fds: i32) -> io::Result<()> {
        (0..fds).try_for_each(|fd| self.write(fd, false))
    }

    fn write(&self, fd: i32, is_there: bool) -> io::Result<()> {
        let answer = if is_there { ALLOW } else { DENY };
        match rustix::io::write(&self.0, &[fd.to_ne_bytes(), answer.to_ne_bytes()].concat()) {
            // Its reader was killed, or it was no event.
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
