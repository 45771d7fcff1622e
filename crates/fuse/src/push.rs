//! Pushes decoded bytes that were not requested into the kernel's page cache.
//!
//! A small read of a compressed file decodes a whole extent. When an extent is read a second time, all of it goes to the
//! page cache: later reads find it there without a request, and the kernel drops it when memory is short.

use std::{
    io,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use fuser::{INodeNo, Notifier};

/// The smallest unit of the page cache.
const PAGE: u64 = 4096;

/// Pushes into the kernel's page cache.
#[derive(Debug)]
pub(crate) struct Pusher {
    /// Set at the mount.
    notifier: OnceLock<Notifier>,
    /// How many more threads may push at once. A push waits for pages that are being read, so one thread must remain to
    /// answer those reads.
    permits: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Its first byte in the file.
    pub(crate) position: u64,
    pub(crate) bytes: &'a [u8],
    /// Bytes in the whole file.
    pub(crate) file_size: u64,
}

impl Pusher {
    /// For a server of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        let permits = AtomicUsize::new(threads.saturating_sub(1));
        Self { notifier: OnceLock::new(), permits }
    }

    pub(crate) fn begin(&self, notifier: Notifier) {
        // There is one mount only, so this is the first call.
        let _ = self.notifier.set(notifier);
    }

    /// Pushes the whole pages of a part of a file. Does nothing if too many threads push. The calling thread must have
    /// answered its request: the push may wait for the reply.
    pub(crate) fn push(&self, number: INodeNo, part: Part<'_>) {
        if self.take() {
            self.push_aside(number, part);
            self.permits.fetch_add(1, Ordering::Release);
        }
    }

    /// As [`Self::push`], for a thread that answers no requests: it may wait.
    pub(crate) fn push_aside(&self, number: INodeNo, part: Part<'_>) {
        let pages = whole_pages(part);
        if let (Some(notifier), Some((position, bytes))) = (self.notifier.get(), pages) {
            // Fails if the kernel has forgotten the inode, which then needs no pages.
            let _: io::Result<()> = notifier.store(number, position, bytes);
        }
    }

    fn take(&self) -> bool {
        let less = |permits: usize| permits.checked_sub(1);
        self.permits.fetch_update(Ordering::Acquire, Ordering::Relaxed, less).is_ok()
    }
}

/// The position and bytes of the whole pages of a part; the last page of a file may be short.
fn whole_pages(part: Part<'_>) -> Option<(u64, &[u8])> {
    let Part { position, bytes, file_size } = part;
    let end = position.checked_add(bytes.len() as u64)?;
    let start = position.checked_next_multiple_of(PAGE)?;
    let end = if end == file_size { end } else { end - end % PAGE };
    let (skip, length) = (start - position, end.checked_sub(start).filter(|length| *length > 0)?);
    let skip = usize::try_from(skip).ok()?;
    let bytes = bytes.get(skip..skip.checked_add(usize::try_from(length).ok()?)?)?;
    Some((start, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_are_pushed() {
        let bytes = vec![0; 10_000];
        let pages = |position, length, file_size| {
            let found = whole_pages(Part { position, bytes: &bytes[..length], file_size });
            found.map(|(start, bytes)| (start, bytes.len()))
        };
        assert_eq!(pages(0, 10_000, 50_000), Some((0, 8192)));
        assert_eq!(pages(0, 10_000, 10_000), Some((0, 10_000)));
        assert_eq!(pages(100, 9000, 50_000), Some((4096, 4096)));
        assert_eq!(pages(100, 3000, 50_000), None);
        assert_eq!(pages(4097, 4096, 8193), Some((8192, 1)));
        assert_eq!(pages(0, 0, 0), None);
    }

    #[test]
    fn one_thread_remains_to_answer() {
        let pusher = Pusher::new(3);
        assert_eq!([pusher.take(), pusher.take(), pusher.take()], [true, true, false]);
        assert!(!Pusher::new(1).take());
    }
}
