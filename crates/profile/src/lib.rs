//! What of a tree is read first, and in which order?
//!
//! A [`Profile`] lists the ranges of files that a program read, and the names that it looked up, in the order of their
//! first use. It is text that people can review and merge, and it names paths, not places in an image, so it holds for
//! the next version of a tree, too. [`Hot`] applies profiles, and other [`Hint`]s, to a tree, which gives the order in
//! which an image of it is stored; [`priorities`] reads the sort files of mksquashfs. A [`Recorder`] makes a profile of what is
//! seen; [`ImageWatch`] and [`FolderWatch`] see what programs read of an image that the kernel mounts, and of a folder.
//! [`Locations`] tells where an image stores what a profile names, and [`first_reads`] how far apart.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod earlier;
mod error;
#[cfg(target_os = "linux")]
mod fanotify;
mod hot;
mod list;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is watched there"))]
mod locations;
mod merge;
mod profile;
mod reads;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is watched there"))]
mod recorder;
mod sort;
mod spans;
mod text;
#[cfg(target_os = "linux")]
mod watch;

// What a profile comes to for an image.
pub use lith_survey::FirstReads;

pub use earlier::Earlier;
pub use error::{ParseError, ProblemKind};
pub use hot::{Hint, Hot};
pub use list::paths_of_list;
pub use locations::{Located, Locations};
pub use merge::{Weighted, merge};
pub use profile::{Access, Entry, Profile};
pub use reads::first_reads;
pub use recorder::Recorder;
pub use sort::{Priorities, priorities};
#[cfg(target_os = "linux")]
pub use watch::{FolderWatch, ImageWatch};
