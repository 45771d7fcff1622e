//! What is known about an image?

mod contents;
mod summary;

use serde::Serialize;

pub use self::{
    contents::{Contents, Tally},
    summary::{Algorithm, DeviceSlot, Features, Kernel, Requirement, Summary},
};
use crate::{Class, Estimates, names};

/// All that is known about an image.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// What it says about itself.
    #[serde(flatten)]
    pub summary: Summary,
    /// What is in it; nothing if that was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
    /// What takes how much, and where; nothing if that was not asked for.
    #[serde(flatten)]
    pub details: Option<Details>,
    /// How large it would be if it were made in other ways; nothing if that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presets: Option<Estimates>,
}

/// What takes how much of an image, and where.
#[derive(Clone, Debug, Serialize)]
pub struct Details {
    /// The root with all below it.
    pub folders: Folder,
    /// Files by type, those that take most first.
    pub types: Vec<TypeSums>,
    /// Bytes stored in the packed inode that are no file's: directories, prefixes of names.
    pub packed_rest: u64,
    /// The largest files.
    pub largest: Largest,
    /// What is stored once instead of several times.
    pub duplicates: Duplicates,
    /// Equal files that are stored several times; nothing if they were not looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equal_files: Option<EqualFiles>,
    /// What lies where, for each device.
    pub devices_map: Vec<Device>,
}

/// Sums over files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Sums {
    /// Regular files, those of several names once.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What those take where they are stored.
    pub stored: u64,
}

impl Sums {
    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        self.files = self.files.saturating_add(other.files);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.stored = self.stored.saturating_add(other.stored);
    }
}

/// A folder with all that is below it.
#[derive(Clone, Debug, Serialize)]
pub struct Folder {
    /// Its name; empty for the root.
    #[serde(flatten)]
    pub name: Named,
    /// Sums over all below it.
    #[serde(flatten)]
    pub all: Sums,
    /// Sums over the files in it that are not told, and over all in the folders in it that are not.
    pub rest: Sums,
    /// Large files in it, those that take most first.
    pub large_files: Vec<FolderFile>,
    /// Larger folders in it, those that take most first.
    pub folders: Vec<Folder>,
}

/// A large file in a folder.
#[derive(Clone, Debug, Serialize)]
pub struct FolderFile {
    /// Its name.
    #[serde(flatten)]
    pub name: Named,
    /// Its bytes.
    pub bytes: u64,
    /// What it takes where it is stored.
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
pub struct TypeSums {
    /// The type: an ending with its dot, or what first bytes say.
    #[serde(rename = "type")]
    pub name: String,
    /// Sums over those files.
    #[serde(flatten)]
    pub all: Sums,
}

/// The largest files, largest first.
#[derive(Clone, Debug, Serialize)]
pub struct Largest {
    /// By their bytes.
    pub by_bytes: Vec<LargeFile>,
    /// By what they take where they are stored.
    pub by_stored: Vec<LargeFile>,
}

/// A large file.
#[derive(Clone, Debug, Serialize)]
pub struct LargeFile {
    /// Its path, by the name that was met first.
    #[serde(flatten)]
    pub path: Located,
    /// Its bytes.
    pub bytes: u64,
    /// What it takes where it is stored.
    pub stored: u64,
}

/// A path of any bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located(pub Vec<u8>);

impl Serialize for Located {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Twins<'a> {
            path: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            path_hex: Option<String>,
        }
        let (path, path_hex) = (&names::text(&self.0), names::hex_unless_text(&self.0));
        Twins { path, path_hex }.serialize(serializer)
    }
}

/// A name of any bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named(pub Vec<u8>);

impl Serialize for Named {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Twins<'a> {
            name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            name_hex: Option<String>,
        }
        let (name, name_hex) = (&names::text(&self.0), names::hex_unless_text(&self.0));
        Twins { name, name_hex }.serialize(serializer)
    }
}

/// What is stored once instead of several times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Duplicates {
    /// Further names of files.
    pub hard_links: Repeats,
    /// Files of which all that is stored, but for what is beside their inodes, is another file's.
    pub whole_files: Repeats,
    /// Files of which a part is another file's, or comes several times in themselves.
    pub parts: Repeats,
}

/// Files that are equal, but stored several times.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EqualFiles {
    /// Contents that more than one file has.
    pub groups: u64,
    /// Files that have them, without one of each group.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What those take where they are stored.
    pub stored: u64,
    /// Files of equal sizes that could not be compared: unreadable ones, or too much for an image of this size.
    pub not_compared: u64,
    /// The groups whose copies take most, those first.
    pub largest: Vec<EqualGroup>,
}

/// Files with the same content, each of which is stored.
#[derive(Clone, Debug, Serialize)]
pub struct EqualGroup {
    /// Bytes of each.
    pub bytes: u64,
    /// How many there are.
    pub files: u64,
    /// What all but the first take where they are stored.
    pub stored: u64,
    /// Some of them.
    pub paths: Vec<Located>,
}

/// Repeats of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Repeats {
    /// How many names or files.
    pub count: u64,
    /// Bytes of their content that are not stored again.
    pub bytes: u64,
}

impl Repeats {
    /// Adds one more of so many bytes.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What lies where on a device.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// 0 for the image itself.
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
pub struct ClassSums {
    /// What they hold.
    pub class: Class,
    /// How many there are.
    pub regions: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Bytes in a row that hold the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Region {
    /// The first byte.
    pub start: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What they hold.
    pub class: Class,
}
