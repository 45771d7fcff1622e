//! Defines why a cpio archive can't be read as a tree.

use lith_tree::DisplayPath;

use crate::{Part, Refusal, tar::In};

/// Why a cpio archive can't be read as a tree. Positions count its bytes after decompression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CpioError {
    /// It ends too early.
    #[error("the cpio archive ends too early, at byte {position}, inside {}", In(*part, member))]
    Truncated {
        /// Where it ends.
        position: u64,
        /// What is truncated.
        part: Part,
        /// The member, or the preceding one if its name is unknown; empty if there is none.
        member: Box<[u8]>,
    },
    /// It violates the rules of its format.
    #[error("the cpio archive is corrupt at byte {position}, in {}", In(*part, member))]
    Damaged {
        /// Where the member starts.
        position: u64,
        /// What is corrupt.
        part: Part,
        /// The member, or the preceding one if its name is unknown; empty if there is none.
        member: Box<[u8]>,
        /// What is wrong.
        source: CpioDamage,
    },
    /// A member is well-formed but can't be part of a tree.
    #[error("the cpio archive's member {} is refused", DisplayPath(member))]
    Refused {
        /// The member's name in the archive.
        member: Box<[u8]>,
        /// Why.
        source: Refusal,
    },
}

/// How a cpio archive violates the rules of its format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CpioDamage {
    /// A header does not start with the magic number.
    #[error("it starts with {}, not with 070701 or 070702", DisplayPath(.0))]
    Magic(Box<[u8]>),
    /// A field is not a hexadecimal number.
    #[error("the field {field} has {}, not a hexadecimal number", DisplayPath(found))]
    Number {
        /// The field's name.
        field: &'static str,
        /// Its bytes.
        found: Box<[u8]>,
    },
    /// A name is empty, too long, or not ended by a NUL byte.
    #[error(
        "its name of {length} bytes is empty, longer than {limit}, or has no NUL byte at the end"
    )]
    Name {
        /// The length with the NUL byte.
        length: u32,
        /// The greatest length.
        limit: u64,
    },
    /// The mode is not that of any type of file.
    #[error("the mode {0:o} is not that of any type of file")]
    Mode(u32),
    /// The sum of the data's bytes is not the checksum.
    #[error("the checksum is {stored:#x}, but its bytes add up to {found:#x}")]
    Checksum {
        /// The checksum.
        stored: u32,
        /// The sum of the bytes.
        found: u32,
    },
    /// After the archive there is something that would be lost.
    #[error("{0} follows, which can't be read there")]
    Follows(&'static str),
}
