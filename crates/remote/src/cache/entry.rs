//! Defines [`Entry`]: the two files of an object in a cache.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use lith_system::{Lock, lock, status};

use super::header::Header;
use crate::{
    store::{RECORD, RECORDS, is_sound, read_record},
    units::bytes_of,
};

/// The suffix of a file with the records of an object's units.
const SUFFIX: &str = "map";

/// Where an object is kept.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    records: PathBuf,
    data: PathBuf,
}

/// An entry that nobody removes while this lives.
#[derive(Debug)]
pub(super) struct Locked {
    pub(super) records: File,
    pub(super) data: File,
}

impl Entry {
    /// The one of this name.
    pub(super) fn new(folder: &Path, name: &str) -> Self {
        let records = folder.join(name).with_extension(SUFFIX);
        let data = records.with_extension("data");
        Self { records, data }
    }

    /// The one whose data is in this file.
    pub(super) fn of(data: &Path) -> Self {
        Self { records: data.with_extension(SUFFIX), data: data.to_owned() }
    }

    /// The file with the data.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// All entries of a folder whose names start with a text.
    pub(super) fn all(folder: &Path, start: &str) -> io::Result<Vec<Self>> {
        let names = match lith_system::names(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names?,
        };
        let mut found = Vec::new();
        for name in names {
            let name = name?;
            let path = folder.join(&name);
            let is_one = name.to_string_lossy().starts_with(start);
            if is_one && path.extension().is_some_and(|suffix| suffix == SUFFIX) {
                found.push(Self { data: path.with_extension("data"), records: path });
            }
        }
        Ok(found)
    }

    /// Opens its files, which are made if they are missing, and locks them for use with others.
    pub(super) fn share(&self, header: &Header) -> io::Result<Locked> {
        loop {
            let locked = self.open(true)?;
            lock(&locked.records, Lock::Shared)?;
            // Another process may have removed it in between.
            if status(&locked.records.metadata()?).links == 0 {
                continue;
            }
            if Header::read(&locked.records).as_ref() != Some(header) {
                header.write(&locked.records)?;
            }
            locked.records.set_modified(SystemTime::now())?;
            return Ok(locked);
        }
    }

    /// Opens its files, which must be there, and locks them for use with others. `None`: it is being removed.
    pub(super) fn hold(&self) -> io::Result<Option<Locked>> {
        let locked = self.open(false)?;
        lock(&locked.records, Lock::Shared)?;
        Ok((status(&locked.records.metadata()?).links > 0).then_some(locked))
    }

    fn open(&self, create: bool) -> io::Result<Locked> {
        let open =
            |path| File::options().read(true).write(true).create(create).truncate(false).open(path);
        Ok(Locked { records: open(&self.records)?, data: open(&self.data)? })
    }

    /// Opens its files as they are.
    pub(super) fn look(&self) -> io::Result<Locked> {
        self.open(false)
    }

    /// Removes it unless it is in use; `false`: it is.
    pub(super) fn remove(&self) -> io::Result<bool> {
        let records = File::open(&self.records)?;
        if lock(&records, Lock::AtOnce).is_err() {
            return Ok(false);
        }
        fs::remove_file(&self.records)?;
        match fs::remove_file(&self.data) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(true),
        }
    }

    /// When it was opened last.
    pub(super) fn last_used(&self) -> SystemTime {
        let modified = self.records.metadata().and_then(|found| found.modified());
        modified.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Bytes that it takes on disk.
    pub(super) fn disk(&self) -> u64 {
        let bytes = |path: &Path| path.metadata().map_or(0, |found| status(&found).allocated);
        bytes(&self.data).saturating_add(bytes(&self.records))
    }
}

impl Locked {
    pub(super) fn is_in_use(&self) -> bool {
        let locked = lock(&self.records, Lock::AtOnce);
        let _ = lock(&self.records, Lock::Nothing);
        locked.is_err()
    }

    /// The units that have a record, with it.
    pub(super) fn units(&self) -> io::Result<impl Iterator<Item = (u64, u64)>> {
        let bytes = self.records.metadata()?.len().saturating_sub(RECORDS);
        let units = 0..bytes / RECORD;
        Ok(units.filter_map(|unit| Some((unit, read_record(&self.records, unit)?))))
    }

    /// Bytes of the object that are here.
    pub(super) fn present(&self, length: u64) -> io::Result<u64> {
        let bytes =
            self.units()?.map(|(unit, _)| bytes_of(&(unit..unit.saturating_add(1)), length));
        Ok(bytes.map(|bytes| bytes.end - bytes.start).sum())
    }

    /// The units whose bytes are not those of their records.
    pub(super) fn damaged(&self, length: u64) -> io::Result<Vec<u64>> {
        let units = self.units()?;
        let is_damaged =
            |(unit, record): &(u64, u64)| !is_sound(&self.data, (*unit, length), *record);
        Ok(units.filter(is_damaged).map(|(unit, _)| unit).collect())
    }
}
