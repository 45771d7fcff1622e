//! Are these the bytes that were signed?
//!
//! A hash tree of dm-verity has the SHA-256 of each block of an image, of each block of those digests, and so on up to one
//! digest, the [`RootHash`]. Who knows that knows all bytes: [`format`] makes a tree, and a [`VerifiedDevice`] reads blocks and
//! refuses those that don't match it. Linux (dm-verity), veritysetup(8) and systemd read the same trees, format 1 with a
//! [`Superblock`] in front.
//!
//! [`sign`] signs a root hash; [`fsverity_digest`] is the digest by which Linux's fs-verity knows a file.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod ahead;
mod area;
mod device;
mod error;
mod format;
mod fsverity;
mod hash;
mod identity;
mod root_hash;
mod shape;
mod signature;
mod superblock;

pub use ahead::AheadDevice;
pub use area::{find_appended, read_superblock};
pub use device::VerifiedDevice;
pub use error::VerityError;
pub use format::{Put, format, in_memory};
pub use fsverity::fsverity_digest;
pub use identity::Identity;
pub use root_hash::{NoRootHash, RootHash};
pub use shape::Shape;
pub use signature::{SignError, Signer, check_signature, sign};
pub use superblock::{
    MAX_BLOCK, MAX_SALT, MIN_BLOCK, SUPERBLOCK_SIZE, Superblock, SuperblockError,
};
