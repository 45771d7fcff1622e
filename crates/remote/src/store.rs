//! Defines [`Store`]: the file that holds what was fetched of one version of an object.

use std::{
    collections::HashSet,
    fs::File,
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lith_system::FileAt;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{
    RemoteError,
    claims::Claims,
    units::{UNIT, bytes_of},
};

/// Where the records of units start in their file, after its header.
pub(crate) const RECORDS: u64 = 4096;
/// Bytes of a record.
pub(crate) const RECORD: u64 = 8;
/// Records that are read at once.
const RECORDS_AT_ONCE: usize = 8192;
/// Units that are made durable together.
const TOGETHER: usize = 16;

/// A sparse file of units, and which of them are there.
///
/// In a cache each unit has a record, which is written when its bytes are durable, and is a hash of them. A unit whose bytes
/// have another one is not there, whatever happened to the machine or to the file.
#[derive(Debug)]
pub(crate) struct Store {
    data: File,
    /// The file with the records; `None`: this process alone uses the data.
    records: Option<File>,
    /// The folder, for errors.
    path: PathBuf,
    /// The path of the data, if it has one.
    file: Option<PathBuf>,
    length: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Units that this process has seen.
    present: HashSet<u64>,
    /// Units without a record yet, and their records.
    fresh: Vec<(u64, u64)>,
}

impl Store {
    /// In a file without a name.
    pub(crate) fn temporary(length: u64) -> Result<Self, RemoteError> {
        let path = std::env::temp_dir();
        let data = tempfile::tempfile_in(&path);
        let data = data.map_err(|source| failed(path.clone(), source))?;
        Ok(Self { data, records: None, path, file: None, length, state: Mutex::default() })
    }

    /// In files of a cache.
    pub(crate) fn kept((data, records): (File, File), file: PathBuf, length: u64) -> Self {
        let path = file.parent().map(ToOwned::to_owned).unwrap_or_default();
        let (records, file) = (Some(records), Some(file));
        Self { data, records, path, file, length, state: Mutex::default() }
    }

    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    /// The file with the data; `None`: it has no name.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Device and inode of the data, by which processes know that they have the same file.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        let id = lith_system::status(&self.data.metadata()?).id;
        id.ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// What other processes fetch; `None`: they don't share it.
    pub(crate) fn claims(&self) -> Option<Claims<'_>> {
        self.records.as_ref().map(Claims)
    }

    /// Whether all units have a record.
    pub(crate) fn is_recorded_whole(&self) -> bool {
        let Some(records) = &self.records else { return false };
        let units = 0..self.length.div_ceil(UNIT);
        let all = units.step_by(RECORDS_AT_ONCE).map(|unit| unit * RECORD);
        let mut buffer = vec![0; RECORDS_AT_ONCE * 8];
        let end = self.length.div_ceil(UNIT) * RECORD;
        all.into_iter().all(|at| {
            let length = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
            let buffer = buffer.get_mut(..length).unwrap_or_default();
            records.read_exact_at(buffer, RECORDS.saturating_add(at)).is_ok()
                && buffer.chunks(8).all(|record| record != [0; 8])
        })
    }

    /// Asks the operating system to have bytes in memory soon.
    pub(crate) fn will_need(&self, bytes: &Range<u64>) {
        let length = bytes.end.saturating_sub(bytes.start);
        lith_system::will_need(&self.data, bytes.start, length);
    }

    /// Whether a unit is there.
    pub(crate) fn has(&self, unit: u64) -> bool {
        if self.state().present.contains(&unit) {
            return true;
        }
        let is_there = self.is_recorded(unit);
        if is_there {
            self.state().present.insert(unit);
        }
        is_there
    }

    fn is_recorded(&self, unit: u64) -> bool {
        let record = self.records.as_ref().and_then(|file| read_record(file, unit));
        record.is_some_and(|record| is_sound(&self.data, (unit, self.length), record))
    }

    /// Keeps a unit.
    pub(crate) fn keep(&self, unit: u64, bytes: &[u8]) -> Result<(), RemoteError> {
        let position = unit.saturating_mul(UNIT);
        self.data.write_all_at(bytes, position).map_err(|source| self.failed(source))?;
        let is_enough = {
            let mut state = self.state();
            state.present.insert(unit);
            if self.records.is_some() {
                state.fresh.push((unit, hash(unit, bytes)));
            }
            state.fresh.len() >= TOGETHER
        };
        if is_enough { self.flush() } else { Ok(()) }
    }

    /// Makes what is kept durable, and then writes that it is there.
    pub(crate) fn flush(&self) -> Result<(), RemoteError> {
        let fresh = std::mem::take(&mut self.state().fresh);
        let Some(records) = self.records.as_ref().filter(|_| !fresh.is_empty()) else {
            return Ok(());
        };
        self.data.sync_data().map_err(|source| self.failed(source))?;
        for (unit, record) in fresh {
            let position = RECORDS.saturating_add(unit.saturating_mul(RECORD));
            let written = records.write_all_at(&record.to_le_bytes(), position);
            written.map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    /// Reads bytes whose units are there.
    pub(crate) fn read(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        self.data.read_exact_at(buf, position)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, source: io::Error) -> RemoteError {
        failed(self.path.clone(), source)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // What has no record is fetched again.
        let _ = self.flush();
    }
}

pub(crate) fn failed(path: PathBuf, source: io::Error) -> RemoteError {
    RemoteError::Store { path, source: Arc::new(source) }
}

/// The record of a unit, if it has one.
pub(crate) fn read_record(records: &File, unit: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    let position = RECORDS.checked_add(unit.checked_mul(RECORD)?)?;
    records.read_exact_at(&mut bytes, position).ok()?;
    Some(u64::from_le_bytes(bytes)).filter(|record| *record != 0)
}

/// Whether the bytes of a unit, of an object of this length, are those of its record.
pub(crate) fn is_sound(data: &File, (unit, length): (u64, u64), record: u64) -> bool {
    let bytes = bytes_of(&(unit..unit.saturating_add(1)), length);
    let Ok(size) = usize::try_from(bytes.end - bytes.start) else { return false };
    let mut found = vec![0; size];
    size > 0 && data.read_exact_at(&mut found, bytes.start).is_ok() && hash(unit, &found) == record
}

/// The record of a unit with these bytes, never 0: that is no record.
fn hash(unit: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, unit).max(1)
}
