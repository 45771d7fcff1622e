//! Which inodes, tables and bytes does an image have?
//!
//! Provides what every examination of a whole image needs: [`Walk`] meets each inode once, [`RangeMap`] records whose
//! the bytes of a device are, [`tables()`] locates what is in no inode, and [`Budget`] bounds the work by the image's
//! size, since a small hostile image can refer to the same bytes again and again. [`FirstReads`] is what of an image is
//! read first. The crate decides nothing: the
//! checker reports what is wrong, the report counts.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod budget;
mod ranges;
mod reads;
mod tables;
mod walk;

pub use budget::{Allowance, Budget, Grant, devices_size};
pub use ranges::{Part, RangeMap, RangeSet};
pub use reads::FirstReads;
pub use tables::{Table, tables};
pub use walk::Walk;
