//! Defines [`Kept`]: a file of the cache that other programs than this one read.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use crate::{cache::reopen, store::Store};

/// A version of an object in a cache that stays there as long as this exists.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    store: Store,
}

impl Kept {
    /// Holds the object in a file, as [`RemoteDevice::kept`](crate::RemoteDevice::kept) names it. The file has all of its
    /// length from now on; what isn't there yet is zeros.
    ///
    /// # Errors
    /// If it isn't there any more, or those of the operating system.
    pub fn hold(path: &Path) -> io::Result<Self> {
        let (store, _) = reopen(path)?;
        let data = File::options().write(true).open(path)?;
        // Never shorter: the kernel may read it already.
        if data.metadata()?.len() < store.length() {
            data.set_len(store.length())?;
        }
        Ok(Self { path: path.to_owned(), store })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode of the file.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        self.store.identity()
    }

    /// Whether all of it was written down as durable.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.store.is_recorded_whole()
    }
}
