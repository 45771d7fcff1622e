//! Defines why a tar can't be read as a tree.

use std::fmt;

use lith_tree::{DisplayPath, NameError, TreeError};

/// Why a tar can't be read as a tree. Positions count the bytes of the tar after decompression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TarError {
    /// It ends too early.
    #[error("the tar ends too early, at byte {position}, inside {}", In(*part, member))]
    Truncated {
        /// Where it ends.
        position: u64,
        /// What is truncated.
        part: Part,
        /// The member, or the preceding one if its name is unknown; empty if there is none.
        member: Box<[u8]>,
    },
    /// It violates the rules of its format.
    #[error("the tar is corrupt at byte {position}, in {}", In(*part, member))]
    Damaged {
        /// Where the member or its first extension header starts.
        position: u64,
        /// What is corrupt.
        part: Part,
        /// The member, or the preceding one if its name is unknown; empty if there is none.
        member: Box<[u8]>,
        /// What is wrong.
        source: Damage,
    },
    /// A member is well-formed but can't be part of a tree.
    #[error("the tar's member {} is refused", DisplayPath(member))]
    Refused {
        /// The member's name in the tar.
        member: Box<[u8]>,
        /// Why.
        source: Refusal,
    },
}

/// A part of a tar or a cpio archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A header, or an extended header, of a member whose name is unknown.
    NextHeader,
    /// The header of a member.
    Header,
    /// The data of a member.
    Data,
    /// What is after the last member: two blocks of zeros in a tar.
    EndMarker,
}

/// Prints a part and its member, or the member before it.
pub(crate) struct In<'a>(pub(crate) Part, pub(crate) &'a [u8]);

impl fmt::Display for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (part, member) = (self.0, self.1);
        f.write_str(match part {
            Part::NextHeader | Part::Header => "the header",
            Part::Data => "the data",
            Part::EndMarker => "the end marker",
        })?;
        match part {
            Part::Header | Part::Data => write!(f, " of {}", DisplayPath(member)),
            Part::NextHeader | Part::EndMarker if member.is_empty() => Ok(()),
            Part::NextHeader | Part::EndMarker => write!(f, " after {}", DisplayPath(member)),
        }
    }
}

/// How a tar violates the rules of its format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The sum of the header's bytes is not its checksum.
    #[error("the header's checksum is wrong: its bytes add up to {expected}")]
    Checksum {
        /// The sum of the bytes.
        expected: u32,
    },
    /// A field is not a number, or is out of range.
    #[error("the field {field} has {}, not a valid number", DisplayPath(found))]
    Number {
        /// The field's name.
        field: &'static str,
        /// Its bytes.
        found: Box<[u8]>,
    },
    /// A record of an extended header does not have the form `length key=value`.
    #[error("byte {at} of the extended header is not the start of a record")]
    Record {
        /// Where it starts in the extended header.
        at: usize,
    },
    /// An extended attribute has an impossible name, coding or size.
    #[error("the extended attribute {} has an impossible name, coding or size", DisplayPath(.0))]
    Xattr(Box<[u8]>),
    /// A global header has a field that each member must have itself.
    #[error("a global header sets {} for all members", DisplayPath(.0))]
    Global(Box<[u8]>),
    /// No member follows an extended header.
    #[error("no member follows an extended header")]
    NothingFollows,
    /// A single block of zeros is between members.
    #[error("a single block of zeros is between members")]
    LoneZeros,
    /// Something is larger than the limit for untrusted data.
    #[error("{what} has {found} bytes, more than {limit}")]
    TooLarge {
        /// What: `the path`, `the extended header`.
        what: &'static str,
        /// Its size in bytes.
        found: u64,
        /// The largest size allowed.
        limit: u64,
    },
    /// A member has more headers than the limit for untrusted data.
    #[error("a member has more than {limit} headers")]
    TooManyHeaders {
        /// The most that are allowed.
        limit: u32,
    },
    /// A sparse file's stretches of data overlap or are out of order.
    #[error("the sparse file's data at {at} start before {end}, where the previous stretch ends")]
    SparseOrder {
        /// Where a stretch starts.
        at: u64,
        /// Where the previous one ends.
        end: u64,
    },
    /// A sparse file has data after its end.
    #[error("the sparse file's data of {length} bytes at {at} end after its size {size}")]
    SparsePastEnd {
        /// Where a stretch starts.
        at: u64,
        /// Its length in bytes.
        length: u64,
        /// The file's size.
        size: u64,
    },
    /// The stretches of a sparse file don't add up to the data that follow.
    #[error("the sparse file's stretches have {listed} bytes, its member {stored}")]
    SparseSum {
        /// The sum of the stretches.
        listed: u64,
        /// The number of bytes that follow.
        stored: u64,
    },
    /// The list of stretches of a sparse file is truncated or has too many numbers.
    #[error("the sparse file's list of stretches is incomplete")]
    SparseList,
}

/// Why a member can't be part of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Its path has a component `..`.
    #[error("{} has a component \"..\"", DisplayPath(.0))]
    ParentDir(Box<[u8]>),
    /// A component of its path is not a valid name.
    #[error("its path is impossible")]
    Name(#[source] NameError),
    /// A component of its path is not a directory.
    #[error("{} is not a directory", DisplayPath(.0))]
    NotADirectory(Box<[u8]>),
    /// It has the name of a directory with entries.
    #[error("it would replace a directory that is not empty")]
    NotEmpty,
    /// It is the root but not a directory.
    #[error("the root must be a directory")]
    Root,
    /// It is a hard link to a missing file.
    #[error("it is a hard link to {}, which is not in the tar", DisplayPath(.0))]
    LinkToNothing(Box<[u8]>),
    /// It is a hard link to a directory.
    #[error("it is a hard link to {}, a directory", DisplayPath(.0))]
    LinkToDirectory(Box<[u8]>),
    /// It is a symbolic link whose target is empty or has a NUL byte.
    #[error("its target {} is impossible", DisplayPath(.0))]
    SymlinkTarget(Box<[u8]>),
    /// It is a symbolic link whose target is longer than Linux allows.
    #[error("its target has {found} bytes, more than {limit}")]
    SymlinkLength {
        /// The length in bytes.
        found: usize,
        /// The greatest length.
        limit: usize,
    },
    /// An ACL names a user or group without a number.
    #[error(
        "its ACL names {} without a number; store ACLs as attributes too: tar --xattrs --xattrs-include='*'",
        DisplayPath(.0)
    )]
    AclName(Box<[u8]>),
    /// An ACL has a malformed entry.
    #[error("its ACL has the malformed entry {}", DisplayPath(.0))]
    AclEntry(Box<[u8]>),
    /// It is a part of a file that continues in another volume.
    #[error("it continues in another volume of the tar")]
    MultiVolume,
    /// It is sparse in an unknown format.
    #[error("its sparse format {major}.{minor} is unknown")]
    SparseVersion {
        /// The format's major version.
        major: u64,
        /// The format's minor version.
        minor: u64,
    },
    /// It is sparse, and an image can't refer to its data.
    #[error("its data can't be referred to, because they are not whole blocks of 512 bytes")]
    SparseUnaligned,
    /// It can't be added to the tree.
    #[error("it cannot be added to the tree")]
    Tree(#[source] TreeError),
}
