//! Defines how a tree is extracted.

use std::num::NonZeroUsize;

/// How a tree is extracted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ExtractOptions {
    /// What the destination may contain before.
    pub existing: Existing,
    /// Which owners files get.
    pub owners: Owners,
    /// Which permission bits files get.
    pub permissions: Permissions,
    /// Whether extended attributes are extracted.
    pub xattrs: bool,
    /// The number of threads that write files.
    pub workers: NonZeroUsize,
}

impl ExtractOptions {
    /// The default with changes.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut options = Self::default();
        change(&mut options);
        options
    }
}

impl Default for ExtractOptions {
    /// Into an empty directory, with all attributes that the process may set, in one thread.
    fn default() -> Self {
        Self {
            existing: Existing::default(),
            owners: Owners::default(),
            permissions: Permissions::default(),
            xattrs: true,
            workers: NonZeroUsize::MIN,
        }
    }
}

/// What the destination may contain before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Existing {
    /// Nothing: the destination is created, or is an empty directory.
    #[default]
    Refuse,
    /// Directories, to which entries are added; anything else with the name of an extracted file is an error.
    Fill,
    /// Anything: entries are added to directories; anything else with the name of an extracted file is removed first, never
    /// written through. A directory is not removed: if a file has its name, that is an error.
    Overwrite,
}

/// Which owners extracted files get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Owners {
    /// Those of the tree if the process runs as root, else the process's own.
    #[default]
    Auto,
    /// Those of the tree; the observer receives each that isn't permitted.
    Keep,
    /// The process's own.
    Own,
}

/// Which permission bits extracted files get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Permissions {
    /// Those of the tree.
    #[default]
    Keep,
    /// Those of the tree without those of the process's umask.
    Masked,
}
