//! Defines [`Unfinished`]: where an upload goes on that another process has begun.
//!
//! A registry keeps what it has of an upload for some days under an address of its choice. That is noted in the folder of the cache.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use lith_system::{names, private_directories};
use sha2::{Digest, Sha256};

use super::Registry;
use crate::Address;

/// The folder of the notes in that of the cache. An address may be all that it takes to write there, so it is the user's only.
const FOLDER: &str = "uploads";
/// After this time no registry knows an upload any more.
const FORGOTTEN: Duration = Duration::from_secs(7 * 24 * 3600);

/// The note about one blob. What can't be read or written is no error: the blob is sent anew then.
pub(super) struct Unfinished {
    /// `None`: nothing is noted.
    path: Option<PathBuf>,
    /// The address of the repository.
    base: Address,
}

impl Unfinished {
    /// That about a blob of a repository.
    pub(super) fn of(registry: &Registry, digest: &str, is_noted: bool) -> Self {
        let base = registry.session.base().clone();
        let cache = registry.options.cache.as_ref().filter(|_| is_noted);
        let name = Sha256::digest(format!("{} {digest}", base.secret_text()));
        let path = cache.map(|cache| cache.folder().join(FOLDER).join(hex::encode(name)));
        Self { path, base }
    }

    /// Where it goes on.
    pub(super) fn read(&self) -> Option<Address> {
        let at = Address::parse(&fs::read_to_string(self.path.as_ref()?).ok()?).ok()?;
        (at.is_encrypted() || !self.base.is_encrypted()).then_some(at)
    }

    /// Notes where it goes on.
    pub(super) fn write(&self, at: &Address) {
        let Some(path) = &self.path else { return };
        let folder = path.parent().unwrap_or(path);
        if !path.exists() {
            remove_old(folder);
        }
        let _lost = private_directories(folder).and_then(|()| fs::write(path, at.secret_text()));
    }

    /// Notes that there is nothing to go on with.
    pub(super) fn forget(&self) {
        let _absent = self.path.as_ref().map(fs::remove_file);
    }
}

fn remove_old(folder: &Path) {
    let is_old = |path: &PathBuf| {
        let noted = path.metadata().and_then(|found| found.modified());
        noted.is_ok_and(|noted| noted < SystemTime::now() - FORGOTTEN)
    };
    let files = names(folder).into_iter().flatten().flatten().map(|name| folder.join(name));
    files.filter(is_old).for_each(|path| drop(fs::remove_file(path)));
}
