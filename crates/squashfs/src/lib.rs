//! How does a SquashFS image become names, attributes and bytes?
//!
//! [`SquashFs`] reads version 4.0 with every compressor of squashfs-tools. Nothing in it knows a tree: [`SquashFs::inode`] reads
//! an inode by its address, [`SquashFs::entries`] the names in a directory, [`SquashFs::xattrs`] extended attributes, and
//! [`SquashFs::file`] gives access to the bytes of a regular file at any position, from any thread.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod blocks;
mod cache;
mod decode;
mod directory;
mod error;
mod file;
mod image;
mod inode;
mod limits;
mod metadata;
mod store;
mod stored;
mod superblock;
mod table;
mod xattr;

pub use decode::{Compression, DecodeError};
pub use directory::Entry;
pub use error::{Corruption, Error, Part};
pub use file::{DataRange, File};
pub use image::SquashFs;
pub use inode::{Inode, InodeAddress, Kind, Listing, Regular};
pub use superblock::{MAGIC, Superblock};
pub use xattr::Xattr;
