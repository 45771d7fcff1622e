//! Defines [`Location`]: where an image is, with its further devices and its hash tree.

use std::path::Path;

use lith::bases::Search;

use super::{remote::Keep, trust::Trust};

/// Where an image is.
#[derive(Clone, Debug)]
pub(crate) struct Location<'a> {
    pub(crate) path: &'a Path,
    /// The byte of its file at which it starts.
    pub(crate) offset: u64,
    /// Where its further devices are.
    pub(crate) search: Search,
    /// By which hash tree its bytes are verified, if they are.
    pub(crate) trust: Option<Trust>,
    /// Where what is fetched of a web server is kept.
    pub(crate) keep: Keep,
}

impl<'a> Location<'a> {
    /// The image in a file, whose bytes are not verified.
    pub(crate) const fn new(path: &'a Path, search: Search) -> Self {
        Self { path, offset: 0, search, trust: None, keep: Keep::Usual }
    }
}
