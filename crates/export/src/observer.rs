//! Who is told how an export gets on, and what it could not keep?

use std::{
    fmt, io,
    sync::atomic::{AtomicU64, Ordering},
};

use lith_tree::DisplayPath;

/// Follows an export; every method has a default that does nothing. `()` is one that follows nothing.
///
/// Workers call it from several threads.
pub trait Observer: Sync {
    /// Something could not be kept; the export goes on without it.
    fn skipped(&self, _skipped: &Skipped) {}

    /// So many more bytes of regular files have been written, holes included.
    fn advanced(&self, _bytes: u64) {}

    /// Asked now and then: whether to give up.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Observer for () {}

/// Something of a tree that its export does not have.
#[derive(Debug)]
pub struct Skipped {
    /// The path in the tree, without a leading slash.
    pub path: Box<[u8]>,
    /// What is missing there.
    pub what: What,
    /// What the operating system said, if it was asked.
    pub cause: Option<io::Error>,
}

/// What can be missing in an export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// User and group stay those of the extracting process.
    Owner,
    /// The permission bits.
    Mode,
    /// Setuid or setgid, which would act for another user than in the tree.
    SetId,
    /// The time of last modification.
    Mtime,
    /// The extended attribute of this name.
    Xattr(Box<[u8]>),
    /// The device node itself.
    Device,
    /// The socket itself, which a tar can't hold.
    Socket,
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

/// What an export amounts to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Names made, directories included.
    pub names: u64,
    /// Bytes of regular files written, holes included, hard links counted once.
    pub bytes: u64,
    /// Things not kept; the observer was told of each.
    pub skipped: u64,
}

/// Counts for a [`Report`] while telling an observer, from any thread.
pub(crate) struct Counter<'a> {
    pub(crate) observer: &'a dyn Observer,
    names: AtomicU64,
    bytes: AtomicU64,
    skipped: AtomicU64,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        Self {
            observer,
            names: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
        }
    }

    pub(crate) fn named(&self, names: u64) {
        self.names.fetch_add(names, Ordering::Relaxed);
    }

    pub(crate) fn advanced(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.observer.advanced(bytes);
    }

    pub(crate) fn skipped(&self, path: &[u8], what: What, cause: Option<io::Error>) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
        let path = path.into();
        self.observer.skipped(&Skipped { path, what, cause });
    }

    pub(crate) fn report(&self) -> Report {
        Report {
            names: self.names.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
        }
    }
}
