//! What is known about an image?
//!
//! Defines [`Facts`], which programs read as JSON and [`page()`](crate::page()) draws.

mod class;
mod comparison;
mod contents;
mod estimates;
mod summary;

use lith_format::kernel::Capability;
use lith_survey::FirstReads;
use serde::{Serialize, Serializer};

pub use self::{
    class::Class,
    comparison::{Changes, Compared, Comparison, FileChange, FileFate, FolderChange, TypeChange},
    contents::{Contents, Tally},
    estimates::{Estimate, Estimates},
    summary::{Algorithm, DeviceSlot, Features, JoinedBase, Kernel, Requirement, Stretch, Summary},
};
use crate::names;

/// All that is known about an image.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Facts {
    /// What its superblock and tables declare.
    #[serde(flatten)]
    pub summary: Summary,
    /// What is in it; `None` if that was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
    /// What is stored where; `None` if that was not requested.
    #[serde(flatten)]
    pub details: Option<Details>,
    /// How large it would be with other options; `None` if that was not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presets: Option<Estimates>,
    /// What is read first of it, for pages; `None` if there is no profile.
    #[serde(skip)]
    pub reads: Option<FirstReads>,
}

impl Facts {
    /// Facts without details and estimates.
    #[must_use]
    pub fn new(mut summary: Summary, contents: Option<Contents>) -> Self {
        let has = |way: &str| contents.as_ref().is_some_and(|found| found.data.contains_key(way));
        let is_declared = summary.features.incompat.contains(&"chunked_file");
        if has("lz4") && !summary.features.incompat.contains(&"lz4_0padding") {
            summary.name_unpadded_lz4();
        }
        if !is_declared && (has("chunk") || has("hole")) {
            summary.kernel.require_undeclared(Capability::Chunks);
        }
        Self { summary, contents, details: None, presets: None, reads: None }
    }
}

/// What is stored where in an image, and how many bytes it takes.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Details {
    /// The root with all folders below it.
    pub folders: Folder,
    /// Files by type, by descending stored bytes.
    pub types: Vec<TypeSums>,
    /// Stored bytes of the packed inode that belong to no file: directories, xattr name prefixes.
    pub packed_rest: u64,
    /// The largest files.
    pub largest: Largest,
    /// Data that is stored once instead of several times.
    pub duplicates: Duplicates,
    /// Equal files that are stored several times; `None` if they were not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equal_files: Option<EqualFiles>,
    /// The map of each device.
    pub devices_map: Vec<Device>,
}

/// Sums over files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Sums {
    /// Regular files; hard links count once.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their stored bytes.
    pub stored: u64,
}

impl Sums {
    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        self.files = self.files.saturating_add(other.files);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.stored = self.stored.saturating_add(other.stored);
    }

    /// By how much stored bytes, and then bytes, differ.
    pub(crate) const fn distance(&self, other: &Self) -> (u64, u64) {
        (self.stored.abs_diff(other.stored), self.bytes.abs_diff(other.bytes))
    }
}

/// A folder with all that is below it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Folder {
    /// Its name; empty for the root.
    #[serde(flatten)]
    pub name: Named,
    /// Sums over all below it.
    #[serde(flatten)]
    pub all: Sums,
    /// Sums over the files in it that are not listed, and over all below the folders in it that are not.
    pub rest: Sums,
    /// Large files in it, by descending stored bytes.
    pub large_files: Vec<FolderFile>,
    /// Larger folders in it, by descending stored bytes.
    pub folders: Vec<Folder>,
}

/// A large file in a folder.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FolderFile {
    /// Its name.
    #[serde(flatten)]
    pub name: Named,
    /// Its bytes.
    pub bytes: u64,
    /// Its stored bytes.
    pub stored: u64,
}

impl FolderFile {
    /// The sums over this one file.
    #[must_use]
    pub const fn sums(&self) -> Sums {
        Sums { files: 1, bytes: self.bytes, stored: self.stored }
    }
}

/// Files of one type.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TypeSums {
    /// The type: a file name extension with its dot, or a type determined by the first bytes.
    #[serde(rename = "type")]
    pub name: String,
    /// Sums over those files.
    #[serde(flatten)]
    pub all: Sums,
}

/// The largest files, largest first.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Largest {
    /// By their bytes.
    pub by_bytes: Vec<LargeFile>,
    /// By their stored bytes.
    pub by_stored: Vec<LargeFile>,
}

/// A large file.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LargeFile {
    /// Its path, by the name that was met first.
    #[serde(flatten)]
    pub path: Located,
    /// Its bytes.
    pub bytes: u64,
    /// Its stored bytes.
    pub stored: u64,
}

/// A path of any bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located(pub Vec<u8>);

impl Serialize for Located {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        names::serialize(&self.0, ["path", "path_hex"], serializer)
    }
}

/// A name of any bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named(pub Vec<u8>);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        names::serialize(&self.0, ["name", "name_hex"], serializer)
    }
}

/// Data that is stored once instead of several times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Duplicates {
    /// Further names of files.
    pub hard_links: Repeats,
    /// Files whose data, except inline data, is stored for another file.
    pub whole_files: Repeats,
    /// Files of which a part is stored for another file, or repeats within the file.
    pub parts: Repeats,
}

/// Files that are equal, but stored several times.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct EqualFiles {
    /// Groups of equal files.
    pub groups: u64,
    /// Files in these groups, except one of each group.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their stored bytes.
    pub stored: u64,
    /// Files of equal sizes that were not compared: unreadable ones, or too many bytes for an image of this size.
    pub not_compared: u64,
    /// The groups with the most stored bytes, by descending stored bytes.
    pub largest: Vec<EqualGroup>,
}

/// Files with equal content, each of which is stored.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct EqualGroup {
    /// Bytes of each.
    pub bytes: u64,
    /// The number of files.
    pub files: u64,
    /// The stored bytes of all except the first.
    pub stored: u64,
    /// The paths of some of them.
    pub paths: Vec<Located>,
}

/// Repeats of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Repeats {
    /// The number of names or files.
    pub count: u64,
    /// Bytes of their content that are not stored again.
    pub bytes: u64,
}

impl Repeats {
    /// Adds one of `bytes` bytes.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The map of a device.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Device {
    /// 0 for the primary device.
    pub number: u16,
    /// Its bytes.
    pub size: u64,
    /// Sums by class.
    pub classes: Vec<ClassSums>,
    /// Regions that tile it, in order.
    pub regions: Vec<Region>,
}

/// Regions of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct ClassSums {
    /// What they hold.
    pub class: Class,
    /// The number of regions.
    pub regions: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Contiguous bytes of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Region {
    /// The first byte.
    pub start: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// What they hold.
    pub class: Class,
}
