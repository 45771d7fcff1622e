//! A library for compressed, read-only filesystem images in the EROFS format.
//!
//! [`build()`] makes an image of anything that [`source`] can read; [`reader`] opens images, [`check`]
//! examines them, [`export`] takes trees out of them.
#![forbid(unsafe_code)]

mod adjust;
mod build;
mod flush;
mod staged;
mod verify;

pub use lith_builder as builder;
pub use lith_check as check;
pub use lith_codec as codec;
pub use lith_device as device;
pub use lith_export as export;
pub use lith_format as format;
pub use lith_reader as reader;
pub use lith_source as source;
pub use lith_tree as tree;

pub use adjust::{Adjust, Times};
pub use build::{BuildOptions, Error, ImageId, build};
pub use verify::Mismatch;
