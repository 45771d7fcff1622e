//! Is this image sound?
//!
//! [`check_devices`] examines an image from its first byte: superblock, inodes, directories, xattrs, maps, and by
//! default all data, each inode once. What is wrong becomes a [`Finding`] with the stable id of a [`Rule`]; only what
//! keeps the examination from being done at all is an error. [`check()`] does the same with an image that is open
//! already. Nothing is printed and nothing is changed.
//!
//! Any byte of an image may be a lie: time and memory stay within what the size of its devices justifies.
#![forbid(unsafe_code)]

mod classify;
mod decode;
mod directory;
mod findings;
mod footprint;
mod indexes;
mod inode;
mod ledger;
mod limits;
mod maps;
mod open;
mod options;
mod overlap;
mod paths;
mod ranges;
mod raw;
mod report;
mod rule;
mod superblock;
mod usage;
mod visits;
mod walk;
mod xattrs;

pub use open::{CheckError, check, check_devices};
pub use options::{Options, Progress};
pub use report::{Counts, Finding, Report};
pub use rule::{Rule, Severity};
