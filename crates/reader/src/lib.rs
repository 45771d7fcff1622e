//! How does an image become names, attributes and bytes?
//!
//! [`Image::open_path`] opens an image. [`Image::files`] lists its files, [`Image::resolve`] finds one by its path,
//! [`Image::read_dir`] and [`Image::lookup`] read a directory. [`Image::xattrs`] and [`Image::read_link`] read what belongs
//! to an inode, [`Image::file`] and [`Image::open_file`] its bytes at any position; a [`FileHandle`] is a [`std::io::Read`].
//! Any number of threads can use an image at once. A thread waits for another only while both decode the same extent.
//!
//! Images are untrusted. Whatever can't be true is a [`Corruption`] of a named inode, and [`Limits`] bound memory and work.
//!
//! Files import each other in one direction: `image` defines the state of an open image from what is below it (`cache`,
//! `devices`, `map`), and the files above it (`content`, `iget`, `dir`, `file`, `open`) add what can be done with it.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod ahead;
mod cache;
mod content;
mod decode;
mod devices;
mod dir;
mod error;
mod extent;
mod fetch;
mod file;
mod files;
mod fragments;
mod handle;
mod iget;
mod image;
mod inode;
mod limits;
mod lock;
mod map;
mod memory;
mod metadata;
mod namei;
mod open;
mod order;
mod piece;
mod stats;
mod symlink;
mod way;
mod xattr;

pub use ahead::{Busy, Deliver, ReadAhead};
pub use dir::{DirEntry, DirPosition, ReadDir};
pub use error::{Corruption, Error, OpenError, Unsupported};
pub use extent::{Extent, ExtentKind, Place};
pub use file::{DataRange, File, Kept};
pub use files::{FileEntry, Files};
pub use handle::{FileHandle, OwnedFile, Readable};
pub use image::{Image, Options};
pub use inode::Inode;
pub use limits::Limits;
pub use map::Extents;
pub use open::read_superblock;
pub use piece::Space;
pub use stats::Stats;
pub use way::Way;
pub use xattr::Xattr;
