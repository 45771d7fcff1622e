//! How does a directory, a tar or an image become a tree?
//!
//! Every source gives a [`Source`]: a [`Tree`] whose inodes are numbered in the order of its walk, and
//! the [`Contents`] that its files' bytes are had through. The bytes themselves stay where they are,
//! but for tars that can be read only once: their members' data go into a spool.
#![forbid(unsafe_code)]

mod detect;
mod directory;
mod ere;
mod error;
mod exclude;
mod fs_config;
mod image;
mod labels;
mod limits;
mod merge;
mod mounted;
mod namespace;
mod note;
mod open;
mod options;
mod overlay;
mod path;
mod seen;
mod tar;

use std::fmt;

use lith_tree::{Contents, Filesystem, Tree};

pub use directory::directory;
pub use ere::{ExtendedRegex, RegexError};
pub use error::SourceError;
pub use exclude::{ExcludeError, Excludes, PatternError};
pub use fs_config::{FsConfig, FsConfigError};
pub use image::{ImageError, image, image_below, image_file};
pub use labels::{FileContexts, LabelError, LabelProblem};
pub use merge::merge;
pub use note::{Note, NoteKind};
pub use open::{Opened, open};
pub use options::{Data, Options, TarEnd};
pub use overlay::{mark_whiteouts, strip_overlay};
pub use tar::{Damage, Part, Refusal, TarError, tar, tar_stream};

/// A tree, the bytes of its files, and what of the original could not be kept.
pub struct Source {
    /// Names, attributes and links.
    pub tree: Tree,
    /// The bytes of the tree's regular files.
    pub contents: Box<dyn Contents>,
    /// What was left out or taken for something else, in a fixed order.
    pub notes: Vec<Note>,
}

impl Source {
    /// The tree with access to its files' bytes.
    #[must_use]
    pub fn filesystem(&self) -> Filesystem<'_> {
        Filesystem::new(&self.tree, &*self.contents)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("inodes", &self.tree.len())
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}
