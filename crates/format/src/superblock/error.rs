//! Defines why a superblock can't be used, or can't be written.

use super::MAGIC;
use crate::addr::Nid;

/// Why a superblock can't be used, or can't be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuperblockError {
    /// Bytes are missing.
    #[error("{found} bytes are too few for the superblock or its block: {needed} are needed")]
    Truncated {
        /// Bytes at hand, from the superblock's start.
        found: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// This is no EROFS image.
    #[error("no EROFS superblock: its magic is {found:#010x}, not {MAGIC:#010x}")]
    Magic {
        /// The value in its place.
        found: u32,
    },
    /// The block size is none of 512 bytes to 64 KiB.
    #[error("the block size's logarithm is {found}, not 9 to 16")]
    BlockBits {
        /// `blkszbits`.
        found: u8,
    },
    /// Directory blocks differ from blocks.
    #[error("dirblkbits is {found}, not 0")]
    DirBlockBits {
        /// `dirblkbits`.
        found: u8,
    },
    /// The image uses features unknown here.
    #[error("unknown incompatible features {bits:#x}")]
    UnknownIncompat {
        /// The unknown bits.
        bits: u32,
    },
    /// The image declares algorithms unknown here.
    #[error("unknown compression algorithms {bits:#x}")]
    UnknownAlgorithms {
        /// The unknown bits of the bitmap.
        bits: u16,
    },
    /// The superblock doesn't end within the first 4 KiB.
    #[error("a superblock of {size} bytes is too large")]
    TooLarge {
        /// Its size.
        size: usize,
    },
    /// The metabox inode is announced, but the slot that names it is missing.
    #[error("a metabox is announced, but the superblock has no ext slot")]
    NoExtSlot,
    /// The packed or metabox inode would be in the metabox.
    #[error("the {inode} inode, NID {nid:#x}, is in the metabox", nid = nid.0)]
    InMetabox {
        /// `packed` or `metabox`.
        inode: &'static str,
        /// Its NID.
        nid: Nid,
    },
    /// The content digest's prefix is none of the long prefixes.
    #[error("the content digest has xattr prefix {id}, but there are {count}")]
    IsharePrefix {
        /// `ishare_xattr_prefix_id`.
        id: u8,
        /// `xattr_prefix_count`.
        count: u8,
    },
    /// The stored checksum is wrong.
    #[error("the checksum of block 0 is {computed:#010x}; {stored:#010x} is stored")]
    Checksum {
        /// The stored value.
        stored: u32,
        /// The right value.
        computed: u32,
    },
    /// The root's NID can't be expressed with these features.
    #[error("the root's NID {nid} can't be stored")]
    RootNid {
        /// The NID.
        nid: Nid,
    },
    /// A number of blocks can't be expressed with these features.
    #[error("{field} {found} can't be stored")]
    Field {
        /// The field's name in the format.
        field: &'static str,
        /// Its value.
        found: u64,
    },
}

impl SuperblockError {
    /// Whether the image may be sound, but uses a feature unknown here; else it is corrupt or no image.
    #[must_use]
    pub const fn is_unsupported(&self) -> bool {
        matches!(self, Self::UnknownIncompat { .. } | Self::UnknownAlgorithms { .. })
    }
}
