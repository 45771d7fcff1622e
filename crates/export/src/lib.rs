//! How does a tree leave an image: into a directory, or as a tar?
//!
//! Both ways take a [`Tree`](lith_tree::Tree) with its [`Contents`](lith_tree::Contents), whole or the part that a
//! [`Selection`] chooses, and tell an [`Observer`] what could not be kept.
#![forbid(unsafe_code)]

mod directory;
mod observer;
mod selection;
mod tar;
#[cfg(test)]
mod testing;

pub use directory::{Existing, ExtractError, ExtractOptions, Owners, Permissions, extract};
pub use observer::{Observer, Report, Skipped, What};
pub use selection::{NoSuchPath, Selection};
pub use tar::{TarError, write_tar};
