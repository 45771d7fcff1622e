//! Defines [`Inode`], one file of a tree: attributes, type, and what only that type has.

use std::collections::BTreeMap;

use crate::{Name, XattrSet};

/// An inode's number in its tree. The root is number 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InodeIndex(pub(crate) u32);

impl InodeIndex {
    /// The root directory.
    pub const ROOT: Self = Self(0);

    /// The next number.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The number, as an index of a table with one row for each inode.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A moment in seconds since 1970 (negative before) and nanoseconds (below 10⁹) after that second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp {
    /// Whole seconds since 1970-01-01 00:00 UTC, rounded down.
    pub sec: i64,
    /// Nanoseconds since then.
    pub nsec: u32,
}

/// A device number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rdev {
    /// The number of the driver.
    pub major: u32,
    /// The number of the device at the driver.
    pub minor: u32,
}

/// The attributes that files of every type have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Metadata {
    /// Permission bits with setuid, setgid and sticky: the low twelve bits of `st_mode`.
    pub permissions: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last modification of the content.
    pub mtime: Timestamp,
    /// Extended attributes, by their set in the tree's pool.
    pub xattrs: XattrSet,
}

/// The names in a directory, in ascending order of their bytes; `.` and `..` are not among them.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    pub(crate) entries: BTreeMap<Name, InodeIndex>,
    pub(crate) subdirectories: u32,
}

impl Directory {
    /// The entries in ascending order of their names' bytes.
    #[must_use]
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&Name, InodeIndex)> {
        self.entries.iter().map(|(name, inode)| (name, *inode))
    }

    /// The inode that `name` leads to.
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<InodeIndex> {
        self.entries.get(name).copied()
    }

    /// The number of names, without `.` and `..`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no name but `.` and `..`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The type of a file, with what only files of that type have.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Names that lead to inodes.
    Directory(Box<Directory>),
    /// Bytes, which [`crate::Contents`] reads.
    Regular {
        /// How many bytes, holes included.
        size: u64,
    },
    /// The symlink's target.
    Symlink(Box<[u8]>),
    /// A device read and written byte by byte.
    CharDevice(Rdev),
    /// A device read and written block by block.
    BlockDevice(Rdev),
    /// A named pipe.
    Fifo,
    /// A local socket's name.
    Socket,
}

impl Kind {
    /// An empty directory.
    #[must_use]
    pub fn directory() -> Self {
        Self::Directory(Box::default())
    }

    /// The type's letter as `find -printf %y` prints it: one of `d f l c b p s`.
    #[must_use]
    pub const fn letter(&self) -> char {
        match self {
            Self::Directory(_) => 'd',
            Self::Regular { .. } => 'f',
            Self::Symlink(_) => 'l',
            Self::CharDevice(_) => 'c',
            Self::BlockDevice(_) => 'b',
            Self::Fifo => 'p',
            Self::Socket => 's',
        }
    }
}

/// One file: its attributes, its type, and its first name.
#[derive(Clone, Debug)]
pub struct Inode {
    /// The attributes that files of every type have.
    pub metadata: Metadata,
    /// The type.
    pub kind: Kind,
    pub(crate) links: u32,
    pub(crate) parent: InodeIndex,
    pub(crate) name: Option<Name>,
}

impl Inode {
    /// An inode outside any tree, with a link count of one.
    #[must_use]
    pub const fn nameless(metadata: Metadata, kind: Kind) -> Self {
        Self { metadata, kind, links: 1, parent: InodeIndex::ROOT, name: None }
    }

    /// The names in it, if it is a directory.
    #[must_use]
    pub const fn as_directory(&self) -> Option<&Directory> {
        match &self.kind {
            Kind::Directory(directory) => Some(directory),
            _ => None,
        }
    }

    /// Link count as `stat` shows it: names for a file, 2 + subdirectories for a directory.
    #[must_use]
    pub const fn nlink(&self) -> u32 {
        match &self.kind {
            Kind::Directory(directory) => directory.subdirectories.saturating_add(2),
            _ => self.links,
        }
    }

    /// The directory of its first name; the root is its own parent.
    #[must_use]
    pub const fn parent(&self) -> InodeIndex {
        self.parent
    }
}
