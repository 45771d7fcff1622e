//! Defines [`Companion`], a file that is made with an image.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use super::staged::Staged;
use crate::Error;

/// A new file that takes its name just before the image does: a device for chunks, a hash tree.
pub(super) struct Companion {
    path: PathBuf,
    staged: Staged,
    file: File,
}

impl Companion {
    /// Creates a file that will be at `path`, beside the image.
    pub(super) fn create(path: &Path, image: &Path) -> Result<Self, Error> {
        let failed = |action| move |source| target(path, action, source);
        if is_same(path, image) {
            let same = io::Error::new(io::ErrorKind::InvalidInput, "it is the image itself");
            return Err(target(path, "create", same));
        }
        let staged = Staged::create(path).map_err(failed("create"))?;
        let file = staged.file().try_clone().map_err(failed("create"))?;
        Ok(Self { path: path.to_owned(), staged, file })
    }

    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Drops what was written.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.staged.clear()
    }

    /// Syncs it and gives it a temporary name.
    pub(super) fn prepare(&mut self) -> Result<(), Error> {
        let synced = self.file.sync_data().and_then(|()| self.staged.prepare());
        synced.map_err(|source| target(&self.path, "put into place", source))
    }

    pub(super) fn commit(self) -> Result<(), Error> {
        commit(self.staged, &self.path)
    }
}

/// Whether two paths, at which there may be no file yet, are of the same one.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path| lith_system::real_path(path);
    one == other
        || lith_system::is_same_file(one, other)
        || real(one).is_some_and(|one| real(other) == Some(one))
}

/// Gives a file its name.
pub(super) fn commit(staged: Staged, path: &Path) -> Result<(), Error> {
    let placed = staged.commit().map_err(|source| target(path, "put into place", source))?;
    let failed = |source| target(path, "sync the directory of what is in place now", source);
    placed.sync().map_err(failed)
}

/// The error of what could not be done with an output.
pub(super) fn target(path: &Path, action: &'static str, source: io::Error) -> Error {
    Error::Target { path: path.to_owned(), action, source }
}
