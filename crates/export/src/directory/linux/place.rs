//! Defines [`Place`], a name in an open directory of the destination at which a file is made.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use lith_beneath::LIST;
use lith_tree::{Inode, InodeIndex, push_name};
use rustix::{
    fs::{AtFlags, Mode, OFlags, openat, unlinkat},
    io::Errno,
};

use super::{
    Existing, ExtractError,
    attributes::{Handle, Subject, mode_at_first},
    extraction::{Extraction, OPEN, join},
    plan::Entry,
    process::{Certain, Inheritance},
};

pub(super) struct OpenDirectory {
    inode: InodeIndex,
    pub(super) path: Vec<u8>,
    pub(super) fd: OwnedFd,
    pub(super) inheritance: Inheritance,
}

impl OpenDirectory {
    /// The directory `inode`: the one in `open` if that is it, else opened, from that one if it is in it, and kept in `open`.
    pub(super) fn reuse<'a>(
        open: &'a mut Option<Self>,
        extraction: &Extraction<'_>,
        inode: InodeIndex,
    ) -> Result<&'a Self, ExtractError> {
        let parent = extraction.fs.tree.get(inode).parent();
        let name = extraction.fs.tree.name(inode);
        match (open.take(), name) {
            (Some(directory), _) if directory.inode == inode => Ok(open.insert(directory)),
            (Some(directory), Some(name)) if directory.inode == parent => {
                Ok(open.insert(directory.below(extraction, inode, name.as_bytes())?))
            }
            _ => Ok(open.insert(Self::open(extraction, inode)?)),
        }
    }

    pub(super) fn open(
        extraction: &Extraction<'_>,
        inode: InodeIndex,
    ) -> Result<Self, ExtractError> {
        let path = extraction.fs.tree.path(inode);
        let fd = extraction.open_directory(&path)?;
        Ok(Self::new(extraction, inode, path, fd))
    }

    /// The directory of a name in this one.
    fn below(
        self,
        extraction: &Extraction<'_>,
        inode: InodeIndex,
        name: &[u8],
    ) -> Result<Self, ExtractError> {
        let mut path = self.path;
        push_name(&mut path, name);
        let opened = openat(&self.fd, name, LIST | OFlags::NOFOLLOW, Mode::empty());
        let fd = opened.map_err(|errno| extraction.error(OPEN, &path, errno))?;
        Ok(Self::new(extraction, inode, path, fd))
    }

    fn new(extraction: &Extraction<'_>, inode: InodeIndex, path: Vec<u8>, fd: OwnedFd) -> Self {
        let inheritance = Inheritance::of(fd.as_fd(), &extraction.process);
        Self { inode, path, fd, inheritance }
    }
}

/// A name in an open directory at which a file is made.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) extraction: &'a Extraction<'a>,
    pub(super) directory: &'a OpenDirectory,
    pub(super) name: &'a [u8],
    pub(super) inode: InodeIndex,
}

impl<'a> Place<'a> {
    pub(super) fn new(
        extraction: &'a Extraction<'a>,
        directory: &'a OpenDirectory,
        entry: &Entry<'a>,
    ) -> Self {
        Self { extraction, directory, name: entry.name.as_bytes(), inode: entry.inode }
    }

    pub(super) fn tree_inode(&self) -> &'a Inode {
        self.extraction.fs.tree.get(self.inode)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'a> {
        self.directory.fd.as_fd()
    }

    /// Makes a regular file, open for writing, and returns its certain attributes.
    pub(super) fn make_file(&self) -> Result<(OwnedFd, Certain), ExtractError> {
        let process = &self.extraction.process;
        let inode = self.tree_inode();
        let mode = mode_at_first(inode, self.extraction.xattrs(inode));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let flags = flags | OFlags::NOFOLLOW;
        let mode_bits = Mode::from_raw_mode(mode.into());
        let fd = self.create(|| openat(self.fd(), self.name, flags, mode_bits))?;
        Ok((fd, process.certain(mode, self.directory.inheritance)))
    }

    /// Sets the attributes of the file that was made here.
    pub(super) fn set_attributes(
        &self,
        handle: Handle<'_>,
        certain: Certain,
    ) -> Result<(), ExtractError> {
        let subject = Subject {
            extraction: self.extraction,
            inode: self.tree_inode(),
            handle,
            parent: &self.directory.path,
            name: self.name,
        };
        subject.set_all(certain)
    }

    /// Calls `make`, which fails if the name exists. If existing files are to be overwritten, removes the file then, and calls
    /// `make` again.
    pub(super) fn create<T>(&self, make: impl Fn() -> Result<T, Errno>) -> Result<T, ExtractError> {
        match make() {
            Err(Errno::EXIST) if self.extraction.options.existing == Existing::Overwrite => {
                match unlinkat(self.fd(), self.name, AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => make(),
                    Err(Errno::ISDIR) => {
                        let path = self.extraction.destination_of(&self.path());
                        return Err(ExtractError::InTheWay(path));
                    }
                    Err(errno) => Err(errno),
                }
            }
            result => result,
        }
        .map_err(|errno| self.error("create", errno))
    }

    /// Removes a file that was made here and could not be finished.
    pub(super) fn remove(&self) {
        // The error that made it unfinished is reported; this one would add nothing.
        _ = unlinkat(self.fd(), self.name, AtFlags::empty());
    }

    pub(super) fn error(&self, action: &'static str, errno: Errno) -> ExtractError {
        self.extraction.error(action, &self.path(), errno)
    }

    pub(super) fn path(&self) -> Vec<u8> {
        join(&self.directory.path, self.name)
    }
}
