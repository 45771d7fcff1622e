//! Defines [`Comparison`]: what differs between two images.

use serde::Serialize;

use super::{Located, Named, Sums};

/// What differs between two images.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The first image and the second one.
    pub images: [Compared; 2],
    /// Names that differ.
    pub names: Changes,
    /// The root with the folders below it in which something changed.
    pub folders: FolderChange,
    /// Types of files with other sums, those first whose stored bytes changed most.
    pub types: Vec<TypeChange>,
    /// Files that were added, removed or have other content, those first whose stored bytes changed most.
    pub files: Vec<FileChange>,
    /// Such files that are not listed.
    pub more_files: u64,
}

/// One of two images.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// Bytes of the image, extra devices included.
    pub size: u64,
    /// Sums over its files.
    #[serde(flatten)]
    pub all: Sums,
    /// The oldest Linux that mounts it.
    pub oldest_kernel: String,
    /// Its algorithms.
    pub algorithms: Vec<&'static str>,
    /// Its incompatible features.
    pub features: Vec<&'static str>,
}

/// Numbers of names that differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Changes {
    /// Only the second image has them.
    pub added: u64,
    /// Only the first image has them.
    pub removed: u64,
    /// They have another type, content, target or device number.
    pub changed: u64,
    /// Only attributes differ: mode, owner, time, links, extended attributes.
    pub attributes: u64,
}

impl Changes {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.added + self.removed + self.changed + self.attributes
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.added += other.added;
        self.removed += other.removed;
        self.changed += other.changed;
        self.attributes += other.attributes;
    }
}

/// A folder in either image, with all that is below it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FolderChange {
    /// Its name; empty for the root.
    #[serde(flatten)]
    pub name: Named,
    /// Sums over all below it in the first image.
    pub before: Sums,
    /// Sums over all below it in the second image.
    pub after: Sums,
    /// Names below it that differ.
    pub names: Changes,
    /// Folders in it in which something changed, those first whose stored bytes changed most.
    pub folders: Vec<Self>,
}

/// Files of one type in both images.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TypeChange {
    /// The type, as of [`TypeSums`](super::TypeSums).
    #[serde(rename = "type")]
    pub name: String,
    /// Sums over those of the first image.
    pub before: Sums,
    /// Sums over those of the second image.
    pub after: Sums,
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FileFate {
    /// Only the second image has it.
    Added,
    /// Only the first image has it.
    Removed,
    /// It has other content, or another type.
    Changed,
}

/// A regular file that was added, removed or changed.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FileChange {
    /// Its path.
    #[serde(flatten)]
    pub path: Located,
    /// What became of it.
    pub change: FileFate,
    /// Its bytes in the first image. A further name of a file that is listed already has none.
    pub before: Sums,
    /// Its bytes in the second image.
    pub after: Sums,
}
