//! Defines [`Cache`]: the folder in which fetched objects are kept.

mod entry;
mod header;
mod room;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use lith_system::{FileAt, Lock, lock, private_directories};
use sha2::{Digest, Sha256};

use crate::{
    Address, RemoteError,
    store::{RECORD, RECORDS, Store, failed},
    version::Version,
};
use entry::Entry;
pub(crate) use header::Header;
pub use room::Pruned;
pub(crate) use room::Room;

/// How often it is looked whether another process has opened an object.
const PAUSE: Duration = Duration::from_millis(5);

/// A folder in which fetched objects are kept, shared by any number of processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// A version of an object in a cache.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CachedObject {
    /// Where it is from, without credentials and query.
    pub address: String,
    /// Bytes that it has.
    pub length: u64,
    /// Bytes of it that are here.
    pub present: u64,
    /// Bytes that it takes on disk.
    pub disk: u64,
    /// When it was opened last.
    pub last_used: SystemTime,
    /// Whether a process has it open.
    pub in_use: bool,
}

/// What a comparison of an object with its records has found.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Verified {
    /// Where it is from, without credentials and query.
    pub address: String,
    /// Units of 64 KiB that were compared.
    pub units: u64,
    /// Those whose bytes have changed since they were kept. They count as missing from now on.
    pub damaged: u64,
}

impl Cache {
    /// The limit where no other is given.
    pub const LIMIT: u64 = 8 << 30;

    /// The one in a folder, which is made when something is kept; objects that were not used for long are removed when they
    /// take more than `limit` bytes together.
    #[must_use]
    pub const fn new(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit }
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The most bytes that objects take.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Opens what is kept of a version of an object, with what makes room for more of it. One that is larger than the limit isn't
    /// kept for longer than it is open.
    pub(crate) fn open(
        &self,
        address: &Address,
        version: &Version,
    ) -> Result<(Store, Option<Room>), RemoteError> {
        let length = version.length;
        if length > self.limit {
            return Ok((Store::temporary(length)?, None));
        }
        let failed = |source| failed(self.folder.clone(), source);
        // What users read is nobody else's business.
        private_directories(&self.folder).map_err(failed)?;
        let header = Header { address: address.to_string(), version: version.clone() };
        let entry = Entry::new(&self.folder, &name(address, version));
        let locked = entry.share(&header).map_err(failed)?;
        let room = self.room(entry.data(), length).map_err(failed)?;
        Ok((
            Store::kept((locked.data, locked.records), entry.data().to_owned(), length),
            Some(room),
        ))
    }

    /// Makes room for an object of so many bytes, whose data is in a file, as it arrives.
    pub(crate) fn room(&self, data: &Path, length: u64) -> io::Result<Room> {
        Room::make(&self.folder, self.limit, (Entry::of(data), length))
    }

    /// Lets one process at a time open an object of which nothing is kept yet, so that its first bytes are fetched once. Returns
    /// what keeps the others out, or after some time nothing.
    pub(crate) fn enter(&self, address: &Address, patience: Duration) -> Option<File> {
        private_directories(&self.folder).ok()?;
        let path = self.folder.join(digest(&address.secret_text())).with_extension("lock");
        let file = File::options().write(true).create(true).truncate(false).open(path).ok()?;
        let begin = Instant::now();
        while let Err(error) = lock(&file, Lock::AtOnce) {
            if error.kind() == io::ErrorKind::Unsupported || begin.elapsed() > patience {
                return None;
            }
            thread::sleep(PAUSE);
        }
        Some(file)
    }

    /// The version of an object that was opened last.
    pub(crate) fn latest(&self, address: &Address) -> Option<Version> {
        let mut found = Entry::all(&self.folder, &digest(&address.secret_text())).ok()?;
        found.sort_by_key(Entry::last_used);
        let header = |entry: Entry| Header::read(&entry.look().ok()?.records);
        found.into_iter().rev().find_map(header).map(|header| header.version)
    }

    /// What is in it, the latest used first.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn list(&self) -> io::Result<Vec<CachedObject>> {
        let mut list = Vec::new();
        for entry in Entry::all(&self.folder, "")? {
            let Ok(locked) = entry.look() else { continue };
            let Some(Header { address, version }) = Header::read(&locked.records) else { continue };
            list.push(CachedObject {
                address,
                length: version.length,
                present: locked.present(version.length)?,
                disk: entry.disk(),
                last_used: entry.last_used(),
                in_use: locked.is_in_use(),
            });
        }
        list.sort_by_key(|object| std::cmp::Reverse(object.last_used));
        Ok(list)
    }

    /// Removes objects, those first that were not used for the longest time, until the others take no more than `limit`
    /// bytes. Objects that are open stay.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn prune_to(&self, limit: u64) -> io::Result<Pruned> {
        room::prune(&self.folder, limit)
    }

    /// Compares all bytes with what was written down when they were kept, and forgets those that have changed.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn verify(&self) -> io::Result<Vec<Verified>> {
        let mut all = Vec::new();
        for entry in Entry::all(&self.folder, "")? {
            let Ok(locked) = entry.look() else { continue };
            let Some(Header { address, version }) = Header::read(&locked.records) else { continue };
            let damaged = locked.damaged(version.length)?;
            for unit in &damaged {
                let position = RECORDS.saturating_add(unit.saturating_mul(RECORD));
                locked.records.write_all_at(&[0; 8], position)?;
            }
            let units = locked.units()?.count() as u64 + damaged.len() as u64;
            all.push(Verified { address, units, damaged: damaged.len() as u64 });
        }
        Ok(all)
    }
}

/// Opens what is kept in a file, whatever version the server has by now.
pub(crate) fn reopen(data: &Path) -> io::Result<(Store, Version)> {
    let gone = || io::Error::other("it is no longer in the cache");
    let locked = Entry::of(data).hold()?.ok_or_else(gone)?;
    let Header { version, .. } = Header::read(&locked.records).ok_or_else(gone)?;
    let store = Store::kept((locked.data, locked.records), data.to_owned(), version.length);
    Ok((store, version))
}

/// The name of a version of an object. It starts with [`digest`] of the address.
fn name(address: &Address, version: &Version) -> String {
    let Version { length, etag, modified } = version;
    let version = format!("{length}\n{etag:?}\n{modified:?}");
    format!("{}-{}", digest(&address.secret_text()), digest(&version))
}

/// 32 hexadecimal digits.
fn digest(text: &str) -> String {
    let digest = hex::encode(Sha256::digest(text));
    digest.chars().take(32).collect()
}
