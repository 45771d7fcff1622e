//! What can the kernel keep that it didn't ask for?
//!
//! Who reads a few bytes here and there of a compressed file makes us decode much more than that. What was decoded
//! besides goes into the kernel's page cache when an extent is read from for the second time: from then on it is found
//! there without asking us, and makes room by itself when memory is short.

use std::{
    io,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use fuser::{INodeNo, Notifier};

/// The unit of the page cache, at least.
const PAGE: u64 = 4096;

/// The way into the kernel's page cache.
#[derive(Debug)]
pub(crate) struct Pusher {
    /// There from the mount on.
    notifier: OnceLock<Notifier>,
    /// How many more threads may push at once. A push waits for pages that are being read: one thread must be left to
    /// answer those reads.
    permits: AtomicUsize,
}

impl Pusher {
    /// For a server of so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        let permits = AtomicUsize::new(threads.saturating_sub(1));
        Self { notifier: OnceLock::new(), permits }
    }

    pub(crate) fn begin(&self, notifier: Notifier) {
        // Nothing is pushed before the first call, and there is one mount only.
        let _ = self.notifier.set(notifier);
    }

    /// Gives the kernel the bytes of a file of `size` bytes from `position` on, as far as they fill pages. Does nothing
    /// if too many threads are at it. The thread must not owe an answer.
    pub(crate) fn push(&self, number: INodeNo, bytes: (u64, &[u8]), size: u64) {
        if self.take() {
            self.push_aside(number, bytes, size);
            self.permits.fetch_add(1, Ordering::Release);
        }
    }

    /// The same by a thread that answers no requests, which may wait.
    pub(crate) fn push_aside(&self, number: INodeNo, (position, bytes): (u64, &[u8]), size: u64) {
        if let (Some(notifier), Some((position, bytes))) =
            (self.notifier.get(), whole_pages(position, bytes, size))
        {
            // An inode that the kernel has forgotten meanwhile is no failure, and nobody waits for this.
            let _: io::Result<()> = notifier.store(number, position, bytes);
        }
    }

    fn take(&self) -> bool {
        let less = |permits: usize| permits.checked_sub(1);
        self.permits.fetch_update(Ordering::Acquire, Ordering::Relaxed, less).is_ok()
    }
}

/// The pages that lie within the bytes, of which the last one of a file may be short.
fn whole_pages(position: u64, bytes: &[u8], size: u64) -> Option<(u64, &[u8])> {
    let end = position.checked_add(bytes.len() as u64)?;
    let start = position.next_multiple_of(PAGE);
    let end = if end == size { end } else { end - end % PAGE };
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
        let pages = |position, length, size| {
            let found = whole_pages(position, &bytes[..length], size);
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
    fn one_thread_is_left_to_answer() {
        let pusher = Pusher::new(3);
        assert_eq!([pusher.take(), pusher.take(), pusher.take()], [true, true, false]);
        assert!(!Pusher::new(1).take());
    }
}
