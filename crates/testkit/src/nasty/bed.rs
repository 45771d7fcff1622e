//! Defines [`Bed`], where the tree grows, and [`Nasty`]: what is planted.

use std::{collections::BTreeSet, fs, path::PathBuf};

/// What is planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nasty {
    /// Everything.
    Whole,
    /// What a tar holds, and GNU tar can write: no sockets, no paths beyond `PATH_MAX`.
    ForTar,
}

/// Where the tree grows.
pub(super) struct Bed {
    pub(super) root: PathBuf,
    pub(super) left_out: BTreeSet<String>,
}

impl Bed {
    /// Makes a folder below the root.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.root.join(name);
        fs::create_dir(&folder).unwrap();
        folder
    }

    /// Reports what could not be made.
    #[expect(clippy::needless_pass_by_value, reason = "callers hand over what a call just gave")]
    pub(super) fn attempt<T>(&mut self, what: &str, result: rustix::io::Result<T>) {
        if let Err(errno) = result {
            self.left_out.insert(format!("{what}: {errno}"));
        }
    }
}
