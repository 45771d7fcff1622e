//! Defines [`Change`], the kinds of difference between two trees.

use std::fmt;

use crate::{DisplayPath, Rdev, Timestamp};

bitflags::bitflags! {
    /// Groups of differences that can be ignored.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Aspects: u8 {
        /// Permission bits, setuid, setgid and sticky.
        const PERMISSIONS = 1;
        /// User and group.
        const OWNERS = 1 << 1;
        /// Time of last modification.
        const MTIME = 1 << 2;
        /// Link counts, and which names lead to one inode.
        const LINKS = 1 << 3;
        /// Extended attributes.
        const XATTRS = 1 << 4;
        /// Bytes of regular files; their sizes are still compared.
        const CONTENT = 1 << 5;
    }
}

/// One difference and its path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// From the root, without a leading slash; empty for the root itself.
    pub path: Box<[u8]>,
    /// What differs.
    pub change: Change,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}: {}", DisplayPath(&self.path), self.change)
    }
}

/// What differs at a path; of two values the first is the left tree's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Only the left tree has the name.
    Missing,
    /// Only the right tree has the name.
    Added,
    /// The types, by their letters.
    Kind(char, char),
    /// Permission bits.
    Permissions(u16, u16),
    /// Owners.
    Uid(u32, u32),
    /// Groups.
    Gid(u32, u32),
    /// Times of last modification.
    Mtime(Timestamp, Timestamp),
    /// Link counts.
    Nlink(u32, u32),
    /// The first path of the inode that this name leads to.
    Links(Box<[u8]>, Box<[u8]>),
    /// Device numbers.
    Rdev(Rdev, Rdev),
    /// Targets of symbolic links.
    Target(Box<[u8]>, Box<[u8]>),
    /// Sizes of regular files.
    Size(u64, u64),
    /// Bytes of regular files of the same size.
    Content {
        /// The first position where they differ.
        position: u64,
        /// The left file's byte there.
        left: u8,
        /// The right file's byte there.
        right: u8,
    },
    /// Only the left tree's file has the attribute of this name.
    XattrMissing(Box<[u8]>),
    /// Only the right tree's file has the attribute of this name.
    XattrAdded(Box<[u8]>),
    /// Values of an extended attribute.
    XattrValue {
        /// The attribute's name.
        name: Box<[u8]>,
        /// The left file's value.
        left: Box<[u8]>,
        /// The right file's value.
        right: Box<[u8]>,
    },
}

impl Change {
    /// The group by which it can be ignored; empty if it can't be ignored.
    #[must_use]
    pub const fn aspect(&self) -> Aspects {
        match self {
            Self::Permissions(..) => Aspects::PERMISSIONS,
            Self::Uid(..) | Self::Gid(..) => Aspects::OWNERS,
            Self::Mtime(..) => Aspects::MTIME,
            Self::Nlink(..) | Self::Links(..) => Aspects::LINKS,
            Self::XattrMissing(_) | Self::XattrAdded(_) | Self::XattrValue { .. } => {
                Aspects::XATTRS
            }
            Self::Content { .. } => Aspects::CONTENT,
            Self::Missing
            | Self::Added
            | Self::Kind(..)
            | Self::Rdev(..)
            | Self::Target(..)
            | Self::Size(..) => Aspects::empty(),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("only in the first"),
            Self::Added => f.write_str("only in the second"),
            Self::Kind(left, right) => write!(f, "type {left} -> {right}"),
            Self::Permissions(left, right) => write!(f, "mode {left:04o} -> {right:04o}"),
            Self::Uid(left, right) => write!(f, "uid {left} -> {right}"),
            Self::Gid(left, right) => write!(f, "gid {left} -> {right}"),
            Self::Mtime(left, right) => {
                write!(f, "mtime {}.{:09} -> ", left.sec, left.nsec)?;
                write!(f, "{}.{:09}", right.sec, right.nsec)
            }
            Self::Nlink(left, right) => write!(f, "nlink {left} -> {right}"),
            Self::Links(left, right) => {
                write!(f, "same file as /{} -> /{}", DisplayPath(left), DisplayPath(right))
            }
            Self::Rdev(left, right) => {
                write!(f, "rdev {}:{} -> ", left.major, left.minor)?;
                write!(f, "{}:{}", right.major, right.minor)
            }
            Self::Target(left, right) => {
                write!(f, "target {} -> {}", DisplayPath(left), DisplayPath(right))
            }
            Self::Size(left, right) => write!(f, "size {left} -> {right}"),
            Self::Content { position, left, right } => {
                write!(f, "content at {position}: 0x{left:02x} -> 0x{right:02x}")
            }
            Self::XattrMissing(name) => write!(f, "xattr {} only in the first", DisplayPath(name)),
            Self::XattrAdded(name) => write!(f, "xattr {} only in the second", DisplayPath(name)),
            Self::XattrValue { name, left, right } => {
                write!(f, "xattr {} {} -> {}", DisplayPath(name), Value(left), Value(right))
            }
        }
    }
}

/// Prints an attribute's value in hexadecimal digits, shortened if it is long.
struct Value<'a>(&'a [u8]);

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 32;
        f.write_str("0x")?;
        for byte in self.0.iter().take(SHOWN) {
            write!(f, "{byte:02x}")?;
        }
        if self.0.len() > SHOWN {
            write!(f, "… ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}
