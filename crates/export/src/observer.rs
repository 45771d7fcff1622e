//! Defines [`ExportObserver`], which follows an export and receives what the export could not keep.

use std::{fmt, io};

use lith_observer::{Observer, Progress};
use lith_tree::DisplayPath;

/// Follows an export: progress and cancelling as [`Observer`], and what could not be kept. `()` follows nothing.
///
/// All methods may be called from several threads at once.
pub trait ExportObserver: Observer {
    /// Something could not be kept; the export continues without it.
    fn skipped(&self, _skipped: &Skipped) {}
}

impl ExportObserver for () {}

impl ExportObserver for Progress {}

/// Something of a tree that its export lacks.
#[derive(Debug)]
#[non_exhaustive]
pub struct Skipped {
    /// The path in the tree, without a leading slash.
    pub path: Box<[u8]>,
    /// What is missing there.
    pub what: What,
    /// The error of the operating system, if it refused it.
    pub cause: Option<io::Error>,
}

impl Skipped {
    /// Describes something that is missing at a path of the tree.
    #[must_use]
    pub fn new(path: &[u8], what: What, cause: Option<io::Error>) -> Self {
        Self { path: path.into(), what, cause }
    }
}

/// What can be missing in an export.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum What {
    /// User and group: they stay those of the extracting process.
    Owner,
    /// The permission bits.
    Mode,
    /// Setuid or setgid, which would act for a different user than in the tree.
    SetId,
    /// The time of last modification.
    Mtime,
    /// The extended attribute of this name.
    Xattr(Box<[u8]>),
    /// The device node itself.
    Device,
    /// The socket itself, which has no form in a tar.
    Socket,
    /// The file itself: this system has no such names, or no such links.
    File,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("owner"),
            Self::Mode => f.write_str("mode"),
            Self::SetId => f.write_str("setuid or setgid"),
            Self::Mtime => f.write_str("mtime"),
            Self::Xattr(name) => write!(f, "xattr {}", DisplayPath(name)),
            Self::Device => f.write_str("device"),
            Self::Socket => f.write_str("socket"),
            Self::File => f.write_str("file"),
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}: {} not kept", DisplayPath(&self.path), self.what)?;
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}
