//! Which extended attributes does a file have, and where are they?
//!
//! A body follows the inode; it holds entries, and the ids of entries that are shared.

mod body;
mod entry;
mod name;
mod prefix;

use crate::addr::{Blkaddr, BlockBits};

pub use self::{
    body::{BODY_HEADER_SIZE, XattrBody, body_size, body_size_of, encode_body, icount_of},
    entry::{ENTRY_HEADER_SIZE, Entries, Entry, VALUE_MAX, entry_size},
    name::{NAME_REST_MAX, ShortPrefix, XattrName},
    prefix::{LONG_PREFIX_FLAG, LongPrefix, PrefixTable},
};

/// Why xattrs can't be used, or can't be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XattrError {
    /// A body of a header only, which has no meaning.
    #[error("an xattr body of a header only has no meaning")]
    HeaderOnly,
    /// The body's bytes are missing.
    #[error("{found} bytes are too few for the header of an xattr body")]
    Truncated {
        /// Bytes at hand.
        found: usize,
    },
    /// There are more shared xattrs than the body has room for.
    #[error("{count} shared xattrs don't fit an xattr body of {size} bytes")]
    SharedCount {
        /// `h_shared_count`.
        count: u8,
        /// Bytes in the body.
        size: usize,
    },
    /// An entry ends beyond its body or beyond the bytes at hand.
    #[error("an xattr of {needed} bytes ends beyond the {found} that are left")]
    EntryCutOff {
        /// Bytes that the entry takes.
        needed: usize,
        /// Bytes left.
        found: usize,
    },
    /// A record of the table of long prefixes is cut off.
    #[error("long xattr prefix {index} is cut off")]
    PrefixCutOff {
        /// The prefix's number.
        index: usize,
    },
    /// A record of the table of long prefixes has an impossible length.
    #[error("long xattr prefix {index} has a record of {length} bytes, not 1 to 256")]
    PrefixLength {
        /// The prefix's number.
        index: usize,
        /// The record's length.
        length: usize,
    },
    /// A name to be written is too long.
    #[error(
        "an xattr name of {length} bytes after its prefix is too long; {NAME_REST_MAX} is the most"
    )]
    NameTooLong {
        /// Bytes after the prefix.
        length: usize,
    },
    /// A value to be written is too long.
    #[error("an xattr value of {length} bytes is too long; {VALUE_MAX} is the most")]
    ValueTooLong {
        /// Bytes in the value.
        length: usize,
    },
    /// The xattrs of a file are too many or too large.
    #[error("xattrs of {size} bytes with {shared} shared ones don't fit one file")]
    BodyTooLarge {
        /// Bytes that the body would have.
        size: usize,
        /// Shared xattrs it would have.
        shared: usize,
    },
}

impl XattrError {
    /// Whether the image may be sound, but uses what is unknown here.
    #[must_use]
    pub const fn is_unsupported(&self) -> bool {
        matches!(self, Self::HeaderOnly)
    }
}

/// Where the shared xattr `id` begins, in bytes from the start of the space that holds them: the primary
/// device, or with `Compat::SHARED_EA_IN_METABOX` the metabox. `None` if it overflows.
#[must_use]
pub fn shared_position(xattr_blkaddr: Blkaddr, id: u32, block: BlockBits) -> Option<u64> {
    xattr_blkaddr.to_pa(block)?.0.checked_add(u64::from(id) * 4)
}

#[cfg(test)]
mod tests;
