//! Defines [`Temporary`]: an unnamed file beside the image, for data that is needed before it can be stored.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use lith_system::FileAt;
use lith_tree::{Content, ContentError, DataRange};

use crate::{BuildError, Output};

/// A file without a name, which vanishes with its last descriptor, even when the process is killed.
#[derive(Debug)]
pub(crate) struct Temporary {
    file: File,
    /// For error messages.
    directory: PathBuf,
}

impl Temporary {
    /// An empty one in a directory.
    pub(crate) fn new(directory: &Path) -> Result<Self, BuildError> {
        let directory = directory.to_owned();
        match unnamed_file(&directory) {
            Ok(file) => Ok(Self { file, directory }),
            Err(source) => Err(BuildError::Temporary { directory, source }),
        }
    }

    /// Writes all bytes, from byte `position` on.
    pub(crate) fn write_all_at(&self, bytes: &[u8], position: u64) -> Result<(), BuildError> {
        self.file.write_all_at(bytes, position).map_err(|source| self.failed(source))
    }

    /// Fills `buf` with the bytes from `position` on.
    pub(crate) fn read_exact_at(&self, buf: &mut [u8], position: u64) -> Result<(), BuildError> {
        self.file.read_exact_at(buf, position).map_err(|source| self.failed(source))
    }

    /// The file as one that an image is written into.
    pub(crate) const fn output(&self) -> Output<'_> {
        Output::new(&self.file, 0)
    }

    fn failed(&self, source: io::Error) -> BuildError {
        BuildError::Temporary { directory: self.directory.clone(), source }
    }
}

impl Content for Temporary {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        let failed =
            |source| ContentError::Io { path: self.directory.clone(), action: "read", source };
        self.file.read_exact_at(buf, position).map_err(failed)
    }

    fn range_at(&self, _position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: u64::MAX })
    }

    /// No other process can open the file.
    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}

fn unnamed_file(directory: &Path) -> io::Result<File> {
    match lith_system::unnamed_file(directory, 0o600) {
        Ok(Some(file)) => Ok(file),
        // If the directory can't be used, this has the reason, too.
        Ok(None) | Err(_) => tempfile::tempfile_in(directory),
    }
}
