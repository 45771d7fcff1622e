//! Defines why a zip archive can't be read as a tree.

use lith_tree::DisplayPath;

use crate::Refusal;

/// Why a zip archive can't be read as a tree.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ZipError {
    /// Its directory is damaged, or it ends too early.
    #[error("the zip archive is damaged: {0}")]
    Damaged(Box<str>),
    /// The data of several members are the same bytes, by which little data becomes very much.
    #[error("the zip archive's members overlap")]
    Overlap,
    /// The data of a member are damaged, or of a kind that is not supported.
    #[error("the zip archive's member {} can't be read: {reason}", DisplayPath(member))]
    Member {
        /// The member's name in the archive.
        member: Box<[u8]>,
        /// What is wrong.
        reason: Box<str>,
    },
    /// A member's data have another length than it says.
    #[error(
        "the zip archive's member {} is damaged: it hasn't the {expected} bytes that it says",
        DisplayPath(member)
    )]
    Length {
        /// The member's name in the archive.
        member: Box<[u8]>,
        /// The length that it says.
        expected: u64,
    },
    /// A member is well-formed but can't be part of a tree.
    #[error("the zip archive's member {} is refused", DisplayPath(member))]
    Refused {
        /// The member's name in the archive.
        member: Box<[u8]>,
        /// Why.
        source: Refusal,
    },
}
