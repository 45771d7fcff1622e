//! A library for compressed, read-only filesystem images in the EROFS format.
//!
//! [`Builder`] makes an image of anything that [`source`] can read; [`reader`] opens images, [`check`]
//! examines them, [`export`] takes trees out of them.
//!
//! An image is read by any number of threads at once, without a lock around it:
//!
//! ```
//! use std::io::Read;
//!
//! use lith::{device::FileDevice, reader::Image};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/03-lz4.erofs");
//! let image = Image::open(FileDevice::open(path)?)?;
//! let inode = image.resolve(b"/text")?;
//! let mut beginning = [0; 64];
//! image.file(&inode)?.into_handle().read_exact(&mut beginning)?;
//! # let mut same = [0; 64];
//! # image.file(&inode)?.read_at(&mut same, 0)?;
//! # assert_eq!(beginning, same);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod build;
mod digest;
mod flush;
mod one_build;
mod places;
mod staged;
mod verify;

pub use lith_builder as builder;
pub use lith_check as check;
pub use lith_codec as codec;
pub use lith_device as device;
pub use lith_export as export;
pub use lith_format as format;
pub use lith_observer as observer;
pub use lith_reader as reader;
pub use lith_source as source;
pub use lith_transform as transform;
pub use lith_tree as tree;

pub use build::Error;
pub use digest::{DigestFinding, DigestState, check_digests, digest_name};
pub use lith_builder::{Options as BuildOptions, Preset};
pub use lith_export::{ListError, block_list, source_map, vmdk_descriptor};
pub use lith_transform::{Adjust, DIGEST_NAME, Overlay, Times, record_digests};
pub use one_build::{Builder, Built, spool_memory};
pub use staged::temporary_directory;
pub use verify::Mismatch;
