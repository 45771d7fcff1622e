//! Defines [`Room`]: the bytes of a cache that an object may take until others are removed.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::entry::Entry;
use crate::units::UNIT;

/// The most bytes for which room is made before they arrive. What a server only claims to have removes no more than that.
const MOST: u64 = 64 << 20;
/// The part of a cache that this is at most.
const PART: u64 = 64;

/// What was removed from a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Pruned {
    /// Objects that were removed.
    pub objects: u64,
    /// Bytes on disk that they took.
    pub bytes: u64,
    /// Bytes on disk that are left.
    pub left: u64,
}

/// Room for an object, which is made in steps as the object arrives.
#[derive(Debug)]
pub(crate) struct Room {
    folder: PathBuf,
    limit: u64,
    entry: Entry,
    length: u64,
    /// Bytes that may arrive until the next step.
    left: Mutex<u64>,
}

impl Room {
    /// The one for an object of a length in a folder, of which there is something already. Room for the first step is made.
    pub(super) fn make(
        folder: &Path,
        limit: u64,
        (entry, length): (Entry, u64),
    ) -> io::Result<Self> {
        let folder = folder.to_owned();
        let room = Self { folder, limit, entry, length, left: Mutex::new(0) };
        room.take(0)?;
        Ok(room)
    }

    /// The folder of the cache.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes room for bytes that arrive.
    pub(crate) fn take(&self, bytes: u64) -> io::Result<()> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(less) = left.checked_sub(bytes).filter(|less| *less > 0) {
            *left = less;
            return Ok(());
        }
        let step = (self.limit / PART).clamp(UNIT, MOST);
        let missing = self.length.saturating_sub(self.entry.disk());
        prune(&self.folder, self.limit.saturating_sub(step.min(missing)))?;
        *left = step;
        Ok(())
    }
}

/// Removes objects, those first that were not used for the longest time, until the others take no more than `limit` bytes.
pub(super) fn prune(folder: &Path, limit: u64) -> io::Result<Pruned> {
    let mut entries = Entry::all(folder, "")?;
    entries.sort_by_key(Entry::last_used);
    let left = entries.iter().map(Entry::disk).sum();
    let mut pruned = Pruned { objects: 0, bytes: 0, left };
    for entry in entries {
        if pruned.left <= limit {
            break;
        }
        let bytes = entry.disk();
        // Another process may prune too.
        if !matches!(entry.remove(), Ok(true)) {
            continue;
        }
        pruned.objects += 1;
        pruned.bytes += bytes;
        pruned.left = pruned.left.saturating_sub(bytes);
    }
    Ok(pruned)
}
