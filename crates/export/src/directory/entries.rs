//! How are names made that lead to anything but directories?

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use lith_tree::{Inode, InodeIndex, Kind, Rdev};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, linkat, makedev, mknodat, openat, symlinkat, unlinkat},
    io::Errno,
};

use super::{
    Existing, ExtractError, Extraction,
    attributes::{Certain, Handle, Inheritance, Subject, is_refusal, mode_at_first},
    file, join,
    plan::{Entry, Plan},
};
use crate::What;

/// A directory of the destination, open to make entries in.
pub(super) struct OpenDirectory {
    inode: InodeIndex,
    path: Vec<u8>,
    fd: OwnedFd,
    inheritance: Inheritance,
}

impl OpenDirectory {
    /// Takes the directory out of `open` if it is the one wanted, else opens it into there.
    pub(super) fn reuse<'a>(
        open: &'a mut Option<Self>,
        extraction: &Extraction<'_>,
        inode: InodeIndex,
    ) -> Result<&'a Self, ExtractError> {
        match open.take() {
            Some(directory) if directory.inode == inode => Ok(open.insert(directory)),
            _ => Ok(open.insert(Self::open(extraction, inode)?)),
        }
    }

    pub(super) fn open(
        extraction: &Extraction<'_>,
        inode: InodeIndex,
    ) -> Result<Self, ExtractError> {
        let path = extraction.fs.tree.path(inode);
        let fd = extraction.open_directory(&path)?;
        let inheritance = Inheritance::of(fd.as_fd(), &extraction.process);
        Ok(Self { inode, path, fd, inheritance })
    }
}

/// A place where an entry is made.
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

    /// Makes whatever the inode is, with content and attributes.
    pub(super) fn make(&self, buffer: &mut [u8]) -> Result<(), ExtractError> {
        let inode = self.tree_inode();
        match &inode.kind {
            Kind::Regular { size } => file::make(self, *size, buffer),
            Kind::Symlink(target) => self.make_symlink(target),
            Kind::CharDevice(rdev) => self.make_node(FileType::CharacterDevice, *rdev),
            Kind::BlockDevice(rdev) => self.make_node(FileType::BlockDevice, *rdev),
            Kind::Fifo => self.make_node(FileType::Fifo, Rdev::default()),
            Kind::Socket => self.make_node(FileType::Socket, Rdev::default()),
            Kind::Directory(_) => Ok(()),
        }
    }

    pub(super) fn tree_inode(&self) -> &'a Inode {
        self.extraction.fs.tree.get(self.inode)
    }

    fn fd(&self) -> BorrowedFd<'a> {
        self.directory.fd.as_fd()
    }

    fn make_symlink(&self, target: &[u8]) -> Result<(), ExtractError> {
        self.create(|| symlinkat(target, self.fd(), self.name))?;
        let certain = self.extraction.process.certain(0o777, self.directory.inheritance);
        self.set_attributes(Handle::Named(self.fd(), self.name), certain)
    }

    fn make_node(&self, file_type: FileType, rdev: Rdev) -> Result<(), ExtractError> {
        let mode = self.tree_inode().metadata.permissions & 0o777;
        let device = makedev(rdev.major, rdev.minor);
        let mode_bits = Mode::from_raw_mode(mode.into());
        let refused =
            self.create(|| match mknodat(self.fd(), self.name, file_type, mode_bits, device) {
                Err(errno) if is_refusal(errno) => Ok(Some(errno)),
                result => result.map(|()| None),
            })?;
        if let Some(errno) = refused {
            let (path, cause) = (self.path(), Some(errno.into()));
            self.extraction.counter.skipped(&path, What::Device, cause);
            return Ok(());
        }
        let certain = self.extraction.process.certain(mode, self.directory.inheritance);
        self.set_attributes(Handle::Named(self.fd(), self.name), certain)
    }

    /// Makes a regular file that wasn't there, open for writing, and says what is certain about it.
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

    /// Sets the attributes of what was made here.
    pub(super) fn set_attributes(
        &self,
        handle: Handle<'_>,
        certain: Certain,
    ) -> Result<(), ExtractError> {
        let subject = Subject {
            extraction: self.extraction,
            inode: self.tree_inode(),
            handle,
            path: (&self.directory.path, self.name),
        };
        subject.set_all(certain)
    }

    /// Calls `make`, which makes the name and fails if it is there; then removes what is there, if that is
    /// wanted, and calls it again.
    fn create<T>(&self, make: impl Fn() -> Result<T, Errno>) -> Result<T, ExtractError> {
        match make() {
            Err(Errno::EXIST) if self.extraction.options.existing == Existing::Overwrite => {
                match unlinkat(self.fd(), self.name, AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => make(),
                    Err(Errno::ISDIR) => {
                        let place = self.extraction.place(&self.path());
                        return Err(ExtractError::InTheWay(place));
                    }
                    Err(errno) => Err(errno),
                }
            }
            result => result,
        }
        .map_err(|errno| self.error("create", errno))
    }

    /// Removes what was made here and could not be finished.
    pub(super) fn remove(&self) {
        // There is an error to be told already, and nothing to be done about this one.
        _ = unlinkat(self.fd(), self.name, AtFlags::empty());
    }

    pub(super) fn error(&self, action: &'static str, errno: Errno) -> ExtractError {
        self.extraction.error(action, &self.path(), errno)
    }

    pub(super) fn path(&self) -> Vec<u8> {
        join(&self.directory.path, self.name)
    }
}

/// Makes the further names of files that have several.
pub(super) fn make_links(extraction: &Extraction<'_>, plan: &Plan<'_>) -> Result<(), ExtractError> {
    let (mut open, mut open_first) = (None, None);
    for link in &plan.links {
        let directory = OpenDirectory::reuse(&mut open, extraction, link.entry.parent)?;
        let first = OpenDirectory::reuse(&mut open_first, extraction, link.first.parent)?;
        let place = Place::new(extraction, directory, &link.entry);
        place.make_link(first, link.first.name.as_bytes())?;
    }
    extraction.counter.named(plan.links.len() as u64);
    Ok(())
}

impl Place<'_> {
    fn make_link(&self, first: &OpenDirectory, name: &[u8]) -> Result<(), ExtractError> {
        let made = self.create(|| {
            match linkat(&first.fd, name, self.fd(), self.name, AtFlags::empty()) {
                // The first name may be of a device that wasn't made.
                Err(Errno::NOENT) if self.is_special() => Ok(false),
                result => result.map(|()| true),
            }
        })?;
        if !made {
            let path = self.path();
            self.extraction.counter.skipped(&path, What::Device, None);
        }
        Ok(())
    }

    fn is_special(&self) -> bool {
        let kind = &self.tree_inode().kind;
        !matches!(kind, Kind::Regular { .. } | Kind::Symlink(_))
    }
}
