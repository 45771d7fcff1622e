//! Defines [`Group`], which receives the kernel's events of fanotify(7).

use std::{
    fs, io,
    ops::Range,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use lith_fanotify::{RANGES, RawEvent};
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::CWD,
};

/// `FAN_ALLOW`.
const ALLOW: u32 = 1;

const BUFFER: usize = 64 << 10;

/// What is reported about a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Each range of bytes, before it is read.
    Ranges,
    /// That a file or directory is opened.
    Opens,
}

/// Which files are reported.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope {
    /// The file itself.
    File,
    /// All files of the mount that it is in.
    Mount,
    /// All files of its filesystem.
    Filesystem,
}

/// An event that is answered already.
#[derive(Debug)]
pub(crate) struct Event {
    /// The path of the file.
    pub(crate) path: PathBuf,
    pub(crate) is_directory: bool,
    /// The bytes; `None` if the file was opened.
    pub(crate) range: Option<Range<u64>>,
}

/// Receives events. While it exists, what it has to allow waits for it.
#[derive(Debug)]
pub(crate) struct Group {
    fanotify: Fanotify,
    buffer: Vec<u8>,
}

impl Group {
    /// A group that watches nothing yet. Needs `CAP_SYS_ADMIN`.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = InitFlags::FAN_CLASS_PRE_CONTENT
            | InitFlags::FAN_CLOEXEC
            | InitFlags::FAN_NONBLOCK
            | InitFlags::FAN_UNLIMITED_QUEUE;
        let files = EventFFlags::O_RDONLY | EventFFlags::O_CLOEXEC | EventFFlags::O_LARGEFILE;
        Ok(Self { fanotify: Fanotify::init(flags, files)?, buffer: vec![0; BUFFER] })
    }

    /// Watches what `path` leads to.
    pub(crate) fn watch(&self, path: &Path, kind: Kind, scope: Scope) -> io::Result<()> {
        let mask = match kind {
            Kind::Ranges => MaskFlags::from_bits_retain(RANGES),
            Kind::Opens => MaskFlags::FAN_OPEN | MaskFlags::FAN_ONDIR,
        };
        let scope = match scope {
            Scope::File => MarkFlags::empty(),
            Scope::Mount => MarkFlags::FAN_MARK_MOUNT,
            Scope::Filesystem => MarkFlags::FAN_MARK_FILESYSTEM,
        };
        Ok(self.fanotify.mark(MarkFlags::FAN_MARK_ADD | scope, mask, CWD, Some(path))?)
    }

    /// Waits for events, at most so long, and returns those there are, in their order.
    pub(crate) fn events(&mut self, timeout: Duration) -> io::Result<Vec<Event>> {
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.fanotify, PollFlags::IN)], Some(&timeout)) {
            Ok(1..) => {}
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(errno) => return Err(errno.into()),
        }
        let read = match rustix::io::read(&self.fanotify, &mut self.buffer) {
            Ok(read) => read,
            Err(rustix::io::Errno::AGAIN) => return Ok(Vec::new()),
            Err(errno) => return Err(errno.into()),
        };
        let mut events = Vec::new();
        let mut rest = self.buffer.get(..read).unwrap_or_default();
        while let Some(raw) = RawEvent::parse(rest) {
            rest = rest.get(raw.bytes..).unwrap_or_default();
            events.extend(take(raw, self.fanotify.as_fd())?);
        }
        Ok(events)
    }
}

/// Lets the reader go on, and closes the event's file. `None`: it is this program's own, or the queue's overflow.
fn take(event: RawEvent, group: BorrowedFd<'_>) -> io::Result<Option<Event>> {
    if event.fd < 0 {
        return Ok(None);
    }
    let is_range = event.mask & RANGES != 0;
    let file = format!("/proc/self/fd/{}", event.fd);
    let path = fs::read_link(&file);
    let is_directory = !is_range && fs::metadata(&file).is_ok_and(|found| found.is_dir());
    if is_range {
        let answer = [event.fd.to_ne_bytes(), ALLOW.to_ne_bytes()].concat();
        rustix::io::write(group, &answer)?;
    }
    nix::unistd::close(event.fd)?;
    let is_own = u32::try_from(event.pid) == Ok(process::id());
    let range = if is_range { event.range } else { None };
    if is_own || (is_range && range.is_none()) {
        return Ok(None);
    }
    Ok(path.ok().map(|path| Event { path, is_directory, range }))
}
