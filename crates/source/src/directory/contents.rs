//! Reads the bytes of files of a scanned directory.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use lith_beneath::Root;
use lith_tree::{Content, ContentError, Contents, DataRange, InodeIndex, Kind, Tree};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, SeekFrom, fstat, openat, seek},
    io::Errno,
};

use crate::{
    SourceError,
    error::cannot,
    seen::{Seen, is_dense, size_of},
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
    let file = match opened {
        Ok(fd) => File::from(fd),
        Err(errno) => return Err(cannot_open(path, errno)),
    };
    let stat = match fstat(&file) {
        Ok(stat) => stat,
        Err(errno) => return Err(io_error(path, "read the attributes", errno)),
    };
    let content = FileContent { seen, dense: is_dense(&stat), file, path, size };
    match content.seen.difference(size, &stat) {
        Some(what) => Err(content.changed(what)),
        None => Ok(Box::new(content)),
    }
}

/// A directory in which files are found by their paths, without being listed.
#[derive(Debug)]
pub(crate) struct Folder(Root);

/// A regular file that was found.
#[derive(Debug)]
pub(crate) struct Found {
    path: Box<[u8]>,
    size: u64,
    seen: Seen,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let root = Root::open(path).map_err(|errno| cannot("open", path)(errno.into()))?;
        Ok(Self(root))
    }

    /// Finds the file at a path from the directory, or at an absolute one, and its size; `None`: it is no regular file.
    pub(crate) fn find(&self, path: &[u8]) -> Result<Option<(Found, u64)>, SourceError> {
        let failed = |errno: Errno| cannot("open", &self.0.full_path(path))(errno.into());
        let fd = self.open_file(path).map_err(failed)?;
        let stat = fstat(&fd).map_err(failed)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let found = Found { path: path.into(), size: size_of(&stat), seen: Seen::new(&stat) };
        let size = found.size;
        Ok(is_file.then_some((found, size)))
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

#[derive(Debug)]
struct FileContent {
    file: File,
    path: PathBuf,
    size: u64,
    seen: Seen,
    dense: bool,
}

impl FileContent {
    fn changed(&self, what: String) -> ContentError {
        ContentError::Changed { path: self.path.clone(), what }
    }

    fn error(&self, action: &'static str, errno: Errno) -> ContentError {
        io_error(self.path.clone(), action, errno)
    }

    /// Where the next hole or data starts; the end if there is none, `unknown` if the filesystem does not support the query.
    fn seek(&self, target: SeekFrom, unknown: u64) -> Result<u64, ContentError> {
        match seek(self.file.as_fd(), target) {
            Ok(found) => Ok(found.min(self.size)),
            Err(Errno::NXIO) => Ok(self.size),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(unknown),
            Err(errno) => Err(self.error("find the holes", errno)),
        }
    }
}

impl Content for FileContent {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), ContentError> {
        self.file.read_exact_at(buf, position).map_err(|source| {
            if source.kind() == io::ErrorKind::UnexpectedEof {
                return self.changed(format!("shorter than {} bytes", self.size));
            }
            ContentError::Io { path: self.path.clone(), action: "read", source }
        })
    }

    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        let end = self.size;
        if self.dense {
            return Ok(DataRange::Data { end });
        }
        let data = self.seek(SeekFrom::Data(position), position)?;
        if data > position {
            return Ok(DataRange::Hole { end: data });
        }
        let hole = self.seek(SeekFrom::Hole(position), end)?;
        if hole > position {
            return Ok(DataRange::Data { end: hole });
        }
        Err(self.changed(format!("a hole at {position} was data")))
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        let stat = fstat(&self.file).map_err(|errno| self.error("read the attributes", errno))?;
        match self.seen.difference(self.size, &stat) {
            Some(what) => Err(self.changed(what)),
            None => Ok(()),
        }
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
