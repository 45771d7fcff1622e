//! Reads the bytes of files of a scanned directory.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use lith_tree::{Content, ContentError, Contents, DataRange, InodeIndex, Kind, Tree};
use rustix::{
    fs::{OFlags, SeekFrom, fstat, seek},
    io::Errno,
};

use super::beneath::Root;
use crate::seen::{Seen, is_dense};

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
        let file = match self.open_file(&relative) {
            Ok(fd) => File::from(fd),
            Err(errno) => return Err(cannot_open(path, errno)),
        };
        let stat = match fstat(&file) {
            Ok(stat) => stat,
            Err(errno) => return Err(io_error(path, "read the attributes", errno)),
        };
        let content = FileContent {
            // An inode that was added to the tree later differs from any file.
            seen: self.seen.get(inode.index()).copied().unwrap_or_default(),
            dense: is_dense(&stat),
            file,
            path,
            size,
        };
        match content.seen.difference(size, &stat) {
            Some(what) => Err(content.changed(what)),
            None => Ok(Box::new(content)),
        }
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
