//! Defines [`Group`], which receives the kernel's events of fanotify(7).

use std::{
    fs, io,
    mem::size_of,
    ops::Range,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::CWD,
};

/// `FAN_PRE_ACCESS`: bytes are about to be read, which waits for an answer. Linux 6.14.
const PRE_ACCESS: u64 = 0x0010_0000;
/// `FAN_EVENT_INFO_TYPE_RANGE`: which bytes.
const RANGE: u8 = 6;
/// `FAN_ALLOW`.
const ALLOW: u32 = 1;

/// Bytes of the fixed part of an event: length, version, length of this part, mask, descriptor, process.
const METADATA: usize = 24;
/// Where the range is in its record, after a header of 4 bytes and 4 more: first byte, and number of bytes.
const RANGE_AT: usize = 8;
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
            Kind::Ranges => MaskFlags::from_bits_retain(PRE_ACCESS),
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
            events.extend(raw.take(self.fanotify.as_fd())?);
        }
        Ok(events)
    }
}

/// An event as the kernel describes it.
struct RawEvent {
    /// Bytes of the description.
    bytes: usize,
    mask: u64,
    fd: i32,
    pid: i32,
    range: Option<Range<u64>>,
}

impl RawEvent {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let size = usize::try_from(u32::from_ne_bytes(array(bytes, 0)?)).ok()?;
        let event = bytes.get(..size).filter(|event| event.len() >= METADATA)?;
        let mut record = event.get(usize::from(u16::from_ne_bytes(array(event, 6)?))..)?;
        let mut range = None;
        while let Some([kind, _, low, high]) = array(record, 0) {
            let size = usize::from(u16::from_ne_bytes([low, high]));
            if kind == RANGE {
                let start = u64::from_ne_bytes(array(record, RANGE_AT)?);
                let count = u64::from_ne_bytes(array(record, RANGE_AT + size_of::<u64>())?);
                range = Some(start..start.saturating_add(count));
            }
            record = record.get(size.max(1)..)?;
        }
        Some(Self {
            bytes: size,
            mask: u64::from_ne_bytes(array(event, 8)?),
            fd: i32::from_ne_bytes(array(event, 16)?),
            pid: i32::from_ne_bytes(array(event, 20)?),
            range,
        })
    }

    /// Lets the reader go on, and closes the event's file. `None`: it is this program's own, or the queue's overflow.
    fn take(self, group: BorrowedFd<'_>) -> io::Result<Option<Event>> {
        if self.fd < 0 {
            return Ok(None);
        }
        let is_range = self.mask & PRE_ACCESS != 0;
        let file = format!("/proc/self/fd/{}", self.fd);
        let path = fs::read_link(&file);
        let is_directory = !is_range && fs::metadata(&file).is_ok_and(|found| found.is_dir());
        if is_range {
            let answer = [self.fd.to_ne_bytes(), ALLOW.to_ne_bytes()].concat();
            rustix::io::write(group, &answer)?;
        }
        nix::unistd::close(self.fd)?;
        let is_own = u32::try_from(self.pid) == Ok(process::id());
        let range = if is_range { self.range.clone() } else { None };
        if is_own || (is_range && range.is_none()) {
            return Ok(None);
        }
        Ok(path.ok().map(|path| Event { path, is_directory, range }))
    }
}

/// The bytes from `at` on; `None` if there are too few.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(records: &[u8]) -> Vec<u8> {
        let size = u32::try_from(METADATA + records.len()).unwrap();
        let mut bytes = size.to_ne_bytes().to_vec();
        bytes.extend([3, 0]);
        bytes.extend(24_u16.to_ne_bytes());
        bytes.extend(PRE_ACCESS.to_ne_bytes());
        bytes.extend(7_i32.to_ne_bytes());
        bytes.extend(99_i32.to_ne_bytes());
        bytes.extend(records);
        bytes
    }

    #[test]
    fn a_range_is_found_among_other_records() {
        let mut records = vec![1, 0, 5, 0, 0xff, RANGE, 0, 24, 0, 0, 0, 0, 0];
        records.extend(4096_u64.to_ne_bytes());
        records.extend(100_u64.to_ne_bytes());
        let bytes = event(&records);
        let found = RawEvent::parse(&bytes).unwrap();
        assert_eq!((found.fd, found.pid, found.range), (7, 99, Some(4096..4196)));
        assert_eq!(found.bytes, bytes.len());
        assert!(RawEvent::parse(&event(&[])).unwrap().range.is_none());
        for len in 0..bytes.len() {
            assert!(RawEvent::parse(&bytes[..len]).is_none(), "{len}");
        }
    }
}
