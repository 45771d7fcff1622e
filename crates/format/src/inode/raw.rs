//! Defines the two forms of inodes and their bytes (`erofs_inode_compact`, `erofs_inode_extended`).

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{I64, U16, U32, U64},
};

/// `erofs_inode_compact`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawCompact {
    pub(super) format: U16,
    pub(super) xattr_icount: U16,
    pub(super) mode: U16,
    pub(super) nb: U16,
    pub(super) size: U32,
    pub(super) mtime: U32,

    pub(super) u: U32,
    pub(super) ino: U32,
    pub(super) uid: U16,
    pub(super) gid: U16,
    pub(super) reserved: U32,
}
const _: () = assert!(size_of::<RawCompact>() == 32);

/// `erofs_inode_extended`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawExtended {
    pub(super) format: U16,
    pub(super) xattr_icount: U16,
    pub(super) mode: U16,
    pub(super) nb: U16,
    pub(super) size: U64,

    pub(super) u: U32,
    pub(super) ino: U32,
    pub(super) uid: U32,
    pub(super) gid: U32,

    pub(super) mtime: I64,
    pub(super) mtime_nsec: U32,
    pub(super) nlink: U32,

    pub(super) reserved: [u8; 16],
}
const _: () = assert!(size_of::<RawExtended>() == 64);

/// The bit of `i_format` that marks extended inodes.
pub(super) const EXTENDED: u16 = 1;

/// How large an inode is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InodeForm {
    /// 32 bytes, with narrower fields.
    Compact,
    /// 64 bytes.
    Extended,
}

impl InodeForm {
    /// Bytes in the inode itself.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Compact => size_of::<RawCompact>(),
            Self::Extended => size_of::<RawExtended>(),
        }
    }

    /// The form of the inode that begins with `bytes`, of which two are needed.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let low = bytes.first()?;
        Some(if u16::from(*low) & EXTENDED == 0 { Self::Compact } else { Self::Extended })
    }
}
