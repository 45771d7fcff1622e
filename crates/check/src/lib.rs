//! Is this image sound?
//!
//! [`check_devices`] examines an image from its first byte: superblock, inodes, directories, xattrs, maps, and by
//! default all data, each inode once. Each defect becomes a [`Finding`] with the stable id of a [`Rule`]; an error means
//! that the image could not be examined. [`check()`] does the same with an image that is open already. Nothing is
//! printed and nothing is changed.
//!
//! Images are untrusted: time and memory stay within what the size of the devices justifies.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod classify;
mod decode;
mod directory;
mod error;
mod findings;
mod footprint;
mod indexes;
mod inode;
mod joined;
mod ledger;
mod limits;
mod maps;
mod open;
mod options;
mod overlap;
mod paths;
mod raw;
mod report;
mod rule;
mod superblock;
mod usage;
mod visits;
mod walk;
mod watch;
mod xattrs;

pub use error::CheckError;
pub use open::{check, check_devices};
pub use options::Options;
pub use report::{Counts, Finding, Report};
pub use rule::{Rule, Severity};
