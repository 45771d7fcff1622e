//! Plants a tree on disk with everything that a Linux filesystem can hold.
//!
//! [`plant`] makes it on disk: every kind of file, and of each attribute the values at its limits. What the process
//! may not make, or the filesystem can't hold, is left out and reported.

mod attributes;
mod files;
mod names;
mod specials;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

pub use files::plant_huge;

use crate::tier;

/// What is planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nasty {
    /// Everything.
    Whole,
    /// What a tar holds, and GNU tar can write: no sockets, no paths beyond `PATH_MAX`.
    ForTar,
}

/// Plants the tree in `folder`, which exists and is empty.
pub fn plant(folder: &Path, what: Nasty) {
    let mut bed = Bed { root: folder.to_owned(), left_out: BTreeSet::new() };
    files::plant(&bed);
    names::plant(&mut bed, what);
    specials::plant(&mut bed, what);
    attributes::plant(&mut bed);
    for reason in bed.left_out {
        tier::skip("nasty tree", reason);
    }
}

/// Where the tree grows.
struct Bed {
    root: PathBuf,
    left_out: BTreeSet<String>,
}

impl Bed {
    /// Makes a folder below the root.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.root.join(name);
        fs::create_dir(&folder).unwrap();
        folder
    }

    /// Reports what could not be made.
    #[expect(clippy::needless_pass_by_value, reason = "callers hand over what a call just gave")]
    fn attempt<T>(&mut self, what: &str, result: rustix::io::Result<T>) {
        if let Err(errno) = result {
            self.left_out.insert(format!("{what}: {errno}"));
        }
    }
}
