//! How does a tree leave an image: into a directory, as a tar, or as a description of its blocks?
//!
//! [`extract`] and [`write_tar`] take a [`Filesystem`](lith_tree::Filesystem), whole or the part that a [`Selection`] chooses, and
//! pass what could not be kept to an [`ExportObserver`]. [`block_list`], [`source_map`] and [`vmdk_descriptor`] describe the blocks
//! of an image to other programs.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod block_list;
mod directory;
mod observer;
mod report;
mod selection;
mod tar;
#[cfg(test)]
mod testing;
mod vmdk;

pub use block_list::{ListError, block_list, source_map};
pub use directory::{Existing, ExtractError, ExtractOptions, Owners, Permissions, extract};
pub use observer::{ExportObserver, Skipped, What};
pub use report::Report;
pub use selection::{NoSuchPath, Selection};
pub use tar::{MemberOrder, TarError, write_tar};
pub use vmdk::vmdk_descriptor;
