//! How does an image become names, attributes and bytes?
//!
//! [`Image::open`] takes a device. From there [`Image::root`], [`Image::read_dir`], [`Image::lookup`] and
//! [`Image::resolve`] lead to inodes, [`Image::xattrs`] and [`Image::read_link`] to what belongs to them, and
//! [`Image::file`] to bytes at any position. [`Image::files`] lists a whole tree, [`FileHandle`] makes a file a
//! [`std::io::Read`]. Everything can be called by many threads at once; none waits for
//! another's reads, but to share what it reads of the inodes that hold pieces of many files.
//!
//! Any byte of an image may be a lie: what can't be true is a [`Corruption`] of a named inode.
#![forbid(unsafe_code)]

mod ahead;
mod cache;
mod content;
mod decode;
mod devices;
mod dir;
mod error;
mod fetch;
mod file;
mod files;
mod handle;
mod image;
mod inode;
mod limits;
mod map;
mod metadata;
mod namei;
mod open;
mod stats;
mod symlink;
mod way;
mod xattr;

pub use ahead::{Busy, Deliver, ReadAhead};
pub use dir::{DirEntry, DirPosition, ReadDir};
pub use error::{Corruption, Error, OpenError, Unsupported};
pub use file::{DataRange, File, Kept};
pub use files::{FileEntry, Files};
pub use handle::{FileHandle, OwnedFile, Readable};
pub use image::{Image, Options};
pub use inode::Inode;
pub use limits::Limits;
pub use map::{Extent, ExtentKind, Extents, Place};
pub use metadata::Space;
pub use stats::Stats;
pub use way::Way;
pub use xattr::Xattr;
