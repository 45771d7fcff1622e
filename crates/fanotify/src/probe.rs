//! Finds out what a kernel reports.

use std::{io, os::fd::OwnedFd, path::Path, sync::mpsc, thread, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::{Place, attach};

/// How long events are waited for before looking whether the mount is done.
const PAUSE: Duration = Duration::from_millis(5);

/// Whether the kernel reports what it reads of an image's metadata, such as the bytes at `first`, with which a mount begins.
/// Otherwise all metadata must be there before it is mounted. Linux reports only data at first (6.14), metadata since a repair
/// of 2026.
///
/// Mounts it, at no place, by `mount` as [`attach`] does, and ends that at once.
///
/// # Errors
/// Those of the kernel if there are no events.
pub fn reports_metadata(
    place: Place<'_>,
    first: u64,
    mount_at: impl FnOnce(&Path, &Path) -> io::Result<()> + Send,
) -> io::Result<bool> {
    let (watched, group) = mpsc::channel();
    thread::scope(|scope| {
        let mounting = thread::Builder::new()
            .spawn_scoped(scope, move || attach(&place, Some(watched), mount_at))?;
        let end = |end: thread::Result<io::Result<OwnedFd>>| {
            end.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        };
        let Ok(group) = group.recv() else {
            return end(mounting.join()).map(|_mounted| false);
        };
        let timeout = Timespec::try_from(PAUSE).map_err(io::Error::other)?;
        let mut has_seen = false;
        while !mounting.is_finished() {
            match poll(&mut [PollFd::new(&group, PollFlags::IN)], Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            for event in group.events()? {
                has_seen |= event.range.is_some_and(|range| range.contains(&first));
                group.answer(event.fd, true)?;
            }
        }
        // It may have failed because metadata is missing.
        let _mounted = end(mounting.join());
        Ok(has_seen)
    })
}
