//! What can be wrong with a tar?

use std::fmt;

use lith_tree::{DisplayPath, NameError, TreeError};

/// Why a tar does not become a tree. Positions count the bytes of the tar, after decompression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TarError {
    /// It ends too early.
    #[error("the tar ends too early, at byte {position}, inside {}", In(*part, member))]
    Truncated {
        /// Where it ends.
        position: u64,
        /// What is cut.
        part: Part,
        /// The member, or the last one before if its name is not known; empty if there is none.
        member: Box<[u8]>,
    },
    /// It breaks the rules of its format.
    #[error("the tar is damaged at byte {position}, in {}", In(*part, member))]
    Damaged {
        /// Where the damage begins, at most a header before.
        position: u64,
        /// What is damaged.
        part: Part,
        /// The member, or the last one before if its name is not known; empty if there is none.
        member: Box<[u8]>,
        /// What is wrong.
        source: Damage,
    },
    /// A member is well-formed but can't be part of a tree.
    #[error("the tar's member {} is refused", DisplayPath(member))]
    Refused {
        /// The member's name as the tar has it.
        member: Box<[u8]>,
        /// Why.
        source: Refusal,
    },
}

/// A part of a tar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A header, or an extended header, of a member whose name is not known yet.
    NextHeader,
    /// The header of a member.
    Header,
    /// The data of a member.
    Data,
    /// The two blocks of zeros at the end.
    EndMarker,
}

/// Shows where a part belongs: to a member, or behind one.
struct In<'a>(Part, &'a [u8]);

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
            Part::NextHeader | Part::EndMarker => write!(f, " behind {}", DisplayPath(member)),
        }
    }
}

/// A broken rule of the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The header's bytes don't add up to what it says.
    #[error("the header's checksum is wrong: its bytes add up to {expected}")]
    Checksum {
        /// What the bytes add up to.
        expected: u32,
    },
    /// A field is no number, or one that makes no sense there.
    #[error("the field {field} has {}, no possible number", DisplayPath(found))]
    Number {
        /// The field's name.
        field: &'static str,
        /// Its bytes.
        found: Box<[u8]>,
    },
    /// A record of an extended header does not have the form `length key=value`.
    #[error("byte {at} of the extended header begins no record")]
    Record {
        /// Where in the extended header it begins.
        at: usize,
    },
    /// An extended attribute has an impossible name, coding or size.
    #[error("the extended attribute {} has an impossible name, coding or size", DisplayPath(.0))]
    Xattr(Box<[u8]>),
    /// A global header sets what each member must have for itself.
    #[error("a global header sets {} for all members", DisplayPath(.0))]
    Global(Box<[u8]>),
    /// Extended headers come without a member.
    #[error("no member follows an extended header")]
    NothingFollows,
    /// One block of zeros stands between members.
    #[error("a single block of zeros stands between members")]
    LoneZeros,
    /// Something is larger than can be believed.
    #[error("{what} has {found}, more than {limit}")]
    TooLarge {
        /// What: `the path`, `the extended header`.
        what: &'static str,
        /// How large it is.
        found: u64,
        /// How large it may be.
        limit: u64,
    },
    /// A sparse file's stretches of data overlap or are out of order.
    #[error("the sparse file's data at {at} begin before {end}, where the stretch before ends")]
    SparseOrder {
        /// Where a stretch begins.
        at: u64,
        /// Where the one before ends.
        end: u64,
    },
    /// A sparse file has data behind its end.
    #[error("the sparse file's data of {length} bytes at {at} pass its size {size}")]
    SparsePastEnd {
        /// Where a stretch begins.
        at: u64,
        /// How long it is.
        length: u64,
        /// The file's size.
        size: u64,
    },
    /// A sparse file's list of stretches does not fit the data that follow.
    #[error("the sparse file's stretches have {listed} bytes, its member {stored}")]
    SparseSum {
        /// The sum of the stretches.
        listed: u64,
        /// The bytes that follow.
        stored: u64,
    },
    /// A sparse file's list of stretches is cut short or has too many numbers.
    #[error("the sparse file's list of stretches is incomplete")]
    SparseList,
}

/// Why a member can't be part of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its path has a component `..`.
    #[error("{} has a component \"..\"", DisplayPath(.0))]
    ParentDir(Box<[u8]>),
    /// A component of its path is no name.
    #[error("its path is impossible")]
    Name(#[source] NameError),
    /// Its path leads through a file that is no directory.
    #[error("{} is not a directory", DisplayPath(.0))]
    NotADirectory(Box<[u8]>),
    /// It takes the name of a directory that has entries.
    #[error("it would replace a directory that is not empty")]
    NotEmpty,
    /// It is the root but no directory.
    #[error("the root must be a directory")]
    Root,
    /// It is a hard link to nothing.
    #[error("it is a hard link to {}, which is not in the tar", DisplayPath(.0))]
    LinkToNothing(Box<[u8]>),
    /// It is a hard link to a directory.
    #[error("it is a hard link to {}, a directory", DisplayPath(.0))]
    LinkToDirectory(Box<[u8]>),
    /// It is a symbolic link that leads nowhere, or has a NUL byte inside.
    #[error("its target {} is impossible", DisplayPath(.0))]
    SymlinkTarget(Box<[u8]>),
    /// An ACL names somebody without a number.
    #[error(
        "its ACL names {} without a number; store ACLs as attributes too: tar --xattrs --xattrs-include='*'",
        DisplayPath(.0)
    )]
    AclName(Box<[u8]>),
    /// An ACL has an entry that is none.
    #[error("its ACL has the entry {}", DisplayPath(.0))]
    AclEntry(Box<[u8]>),
    /// It is a piece of a file that continues in another volume.
    #[error("it continues in another volume of the tar")]
    MultiVolume,
    /// It is sparse in a form that is not known.
    #[error("its sparse format {major}.{minor} is unknown")]
    SparseVersion {
        /// The format's major version.
        major: u64,
        /// The format's minor version.
        minor: u64,
    },
    /// It is sparse, and its data can't be referred to.
    #[error(
        "its stretches of data can't be referred to, since they are no whole blocks of 512 bytes"
    )]
    SparseUnaligned,
    /// It does not fit into the tree.
    #[error("it has no place in the tree")]
    Tree(#[source] TreeError),
}

/// What is wrong with a member, before it is known where that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flaw {
    Damage(Damage),
    Refusal(Refusal),
}

impl From<Damage> for Flaw {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl From<Refusal> for Flaw {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}
