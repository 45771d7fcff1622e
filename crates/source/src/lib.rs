//! How does a directory, a tar, a cpio or zip archive, an image, a SquashFS image or a list of files become a tree?
//!
//! Each function returns a [`Source`]: a [`Tree`] whose inodes are numbered in the order of its walk, and the [`Contents`] that read
//! the bytes of its files. The bytes stay where they are stored, except for archives that can be read only once: the
//! data of their members are copied to a spool.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod archive;
mod cpio;
mod detect;
#[cfg(target_os = "linux")]
mod directory;
#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(
    target_os = "linux",
    allow(dead_code, unreachable_pub, reason = "only parts of it are tested on Linux")
)]
mod elsewhere;
mod error;
mod file;
mod image;
mod layer;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "directories are read by one thread")
)]
mod limits;
mod manifest;
mod merge;
mod namespace;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "directories are read by one thread")
)]
mod note;
mod oci;
mod open;
mod options;
mod outputs;
mod prune;
#[cfg(feature = "remote")]
mod remote;
mod salvage;
mod seen;
mod squashfs;
mod stream;
mod tar;
mod zip;

use std::fmt;

use lith_tree::{Contents, Filesystem, Tree};

#[cfg(not(target_os = "linux"))]
use elsewhere as directory;

pub use archive::{archive, archive_stream};
pub use cpio::{CpioDamage, CpioError};
pub use detect::{NEEDED as TYPE_BYTES, foreign_type, is_archive, is_squashfs};
pub use directory::directory;
pub use error::SourceError;
pub use image::{ImageError, image, image_below, image_file};
pub use lith_transform::{ExcludeError, Excludes};
pub use manifest::{ManifestProblem, manifest};
pub use merge::merge;
pub use note::{Note, NoteKind};
pub use oci::{NoPlatform, OciError, Platform, container_layers, is_container};
pub use open::open;
pub use options::{Data, OnError, Options, TarEnd};
pub use salvage::{Loss, Losses, LostRanges, ReadBytes, read_what_is_there, salvage};
pub use squashfs::{SquashFsError, squashfs};
pub use stream::{Opened, spooled};
pub use tar::{Damage, Part, Refusal, TarError, tar, tar_stream};
pub use zip::ZipError;

/// A tree, the bytes of its files, and what of the original it lacks.
pub struct Source {
    /// Names, attributes and links.
    pub tree: Tree,
    /// The bytes of the tree's regular files.
    pub contents: Box<dyn Contents>,
    /// What was left out or read as something else, in ascending order of kinds.
    pub notes: Vec<Note>,
}

impl Source {
    /// A tree made by a program, with nothing to note.
    #[must_use]
    pub fn new(tree: Tree, contents: impl Contents + 'static) -> Self {
        Self { tree, contents: Box::new(contents), notes: Vec::new() }
    }

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
