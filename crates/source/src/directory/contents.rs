//! Reads the bytes of files of a scanned directory.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use lith_beneath::Root;
use lith_tree::{Content, ContentError, Contents, InodeIndex, Kind, Tree};
use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
};

use crate::{
    SourceError,
    error::cannot,
    file::{self, Found},
    seen::Seen,
};

/// `NONBLOCK`, so that opening never waits, even if a FIFO has replaced the file.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Opens the files of a scanned directory.
#[derive(Debug)]
pub(super) struct DirectoryContents {
    root: Root,
    /// By inode.
    seen: Vec<Seen>,
    /// Whether files are opened without changing their access time. Only their owner may do that.
    quiet: AtomicBool,
}

impl DirectoryContents {
    pub(super) const fn new(root: Root, seen: Vec<Seen>) -> Self {
        Self { root, seen, quiet: AtomicBool::new(true) }
    }

    fn open_file(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        if self.quiet.load(Ordering::Relaxed) {
            match self.root.open_beneath(path, READ | OFlags::NOATIME) {
                Err(Errno::PERM) => self.quiet.store(false, Ordering::Relaxed),
                opened => return opened,
            }
        }
        self.root.open_beneath(path, READ)
    }
}

impl Contents for DirectoryContents {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        let relative = tree.path(inode);
        let path = self.root.full_path(&relative);
        let Kind::Regular { size } = tree.get(inode).kind else {
            return Err(io_error(path, "open", Errno::INVAL));
        };
        // An inode that was added to the tree later differs from any file.
        let seen = self.seen.get(inode.index()).copied().unwrap_or_default();
        content(self.open_file(&relative), path, size, seen)
    }
}

/// The content of a file that is, or was tried to be, opened, and that had a size and attributes before.
fn content<'a>(
    opened: rustix::io::Result<OwnedFd>,
    path: PathBuf,
    size: u64,
    seen: Seen,
) -> Result<Box<dyn Content + 'a>, ContentError> {
    match opened {
        Ok(fd) => file::content(fd.into(), path, size, seen),
        Err(errno) => Err(cannot_open(path, errno)),
    }
}

/// A directory in which files are found by their paths, without being listed.
#[derive(Debug)]
pub(crate) struct Folder(Root);

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let root = Root::open(path).map_err(|errno| cannot("open", path)(errno.into()))?;
        Ok(Self(root))
    }

    /// Finds the file at a path from the directory, or at an absolute one, and its size; `None`: it is no regular file.
    pub(crate) fn find(&self, path: &[u8]) -> Result<Option<(Found, u64)>, SourceError> {
        let opened = self.open_file(path).map_err(io::Error::from);
        let found = opened.and_then(|fd| Found::new(path, &fd.into()));
        found.map_err(cannot("open", &self.0.full_path(path)))
    }

    /// Opens a file again.
    pub(crate) fn content(&self, file: &Found) -> Result<Box<dyn Content + '_>, ContentError> {
        let path = self.0.full_path(&file.path);
        content(self.open_file(&file.path), path, file.size, file.seen)
    }

    fn open_file(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        if path.starts_with(b"/") {
            return openat(CWD, path, READ, Mode::empty());
        }
        self.0.open_beneath(path, READ)
    }
}

fn cannot_open(path: PathBuf, errno: Errno) -> ContentError {
    let what = match errno {
        Errno::NOENT | Errno::NOTDIR => "was removed",
        Errno::LOOP => "was replaced by a symbolic link",
        Errno::NXIO => "is no longer a regular file",
        _ => return io_error(path, "open", errno),
    };
    ContentError::Changed { path, what: what.to_owned() }
}

fn io_error(path: PathBuf, action: &'static str, errno: Errno) -> ContentError {
    ContentError::Io { path, action, source: io::Error::from(errno) }
}
