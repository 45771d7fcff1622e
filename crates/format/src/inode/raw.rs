//! Defines the bytes of inodes (`erofs_inode_compact`, `erofs_inode_extended`).

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
