//! Lists directories: names, attributes and xattrs of their entries.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    os::unix::ffi::OsStrExt,
};

use lith_tree::{Kind, Metadata, Name, Rdev, Xattr, push_name};
use rustix::{
    fs::{AtFlags, FileType, RawDir, Stat, major, minor, readlinkat, statat},
    io::Errno,
};

use super::{
    beneath::{LIST, Root},
    xattrs::{Target, XattrReader},
};
use crate::{
    Options, SourceError,
    limits::PATH_MAX,
    note::Notes,
    seen::{Seen, size_of},
};

/// Bytes of directory entries read at once.
const ENTRIES: usize = 32 << 10;

/// One directory's entries in ascending order of their names' bytes.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The directory's own attributes.
    pub(super) xattrs: Vec<Xattr>,
    pub(super) entries: Vec<Entry>,
    /// The paths of the subdirectories, in the order of their entries.
    pub(super) subdirectories: Vec<Box<[u8]>>,
    /// The number of the first subdirectory's listing; the others' follow.
    pub(super) first_child: usize,
}

/// One name in a directory and the file that it leads to.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Name,
    /// Without its extended attributes.
    pub(super) metadata: Metadata,
    pub(super) xattrs: Vec<Xattr>,
    pub(super) seen: Seen,
    /// Device and inode number of a file that has several names.
    pub(super) shared: Option<(u64, u64)>,
    pub(super) kind: Kind,
}

/// Lists directories, one after the other.
pub(super) struct Scanner<'a> {
    root: &'a Root,
    options: &'a Options,
    reader: XattrReader,
    pub(super) notes: Notes,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(root: &'a Root, options: &'a Options) -> Self {
        Self { root, options, reader: XattrReader::default(), notes: Notes::default() }
    }

    pub(super) fn scan(&mut self, path: &[u8]) -> Result<Listing, SourceError> {
        let fd =
            self.root.open_beneath(path, LIST).map_err(|errno| self.error(path, "open", errno))?;
        let xattrs = self.xattrs(Target::Fd(fd.as_fd()), path)?;
        let mut place = Place::new(path, self.root, &fd);
        let mut entries = Vec::new();
        let mut buffer = Vec::with_capacity(ENTRIES);
        let mut names = RawDir::new(&fd, buffer.spare_capacity_mut());
        while let Some(entry) = names.next() {
            let entry = entry.map_err(|errno| self.error(path, "list", errno))?;
            entries.extend(self.entry(&mut place, entry.file_name())?);
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Listing {
            xattrs,
            subdirectories: subdirectories(&entries, path),
            entries,
            first_child: 0,
        })
    }

    /// Reads the attributes of one name; `None` if it is excluded.
    fn entry(&mut self, place: &mut Place<'_>, name: &CStr) -> Result<Option<Entry>, SourceError> {
        let bytes = name.to_bytes();
        if bytes == b"." || bytes == b".." || self.options.exclude.excludes(place.parent, bytes) {
            return Ok(None);
        }
        place.enter(bytes);
        let stat = statat(place.fd, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| self.error(&place.path, "read the attributes", errno))?;
        let kind = kind(place.fd, name, &stat)
            .map_err(|errno| self.error(&place.path, "read the link", errno))?;
        let xattrs = match kind {
            Kind::Directory(_) => Vec::new(),
            _ => self.xattrs(Target::Path(&place.system_path), &place.path)?,
        };
        let name = Name::new(bytes).map_err(|source| SourceError::Name {
            path: self.root.full_path(&place.path),
            source,
        })?;
        Ok(Some(Entry {
            name,
            metadata: metadata(&stat),
            xattrs,
            seen: Seen::new(&stat),
            shared: shared(&stat, &kind, self.options),
            kind,
        }))
    }

    /// The extended attributes of one file, if the options request them.
    pub(super) fn xattrs(
        &mut self,
        target: Target<'_>,
        path: &[u8],
    ) -> Result<Vec<Xattr>, SourceError> {
        if !self.options.xattrs {
            return Ok(Vec::new());
        }
        let notes = &mut self.notes;
        let found = self.reader.read(target, |kind| notes.add(kind, path));
        found.map_err(|errno| self.error(path, "read the extended attributes", errno))
    }

    fn error(&self, path: &[u8], action: &'static str, errno: Errno) -> SourceError {
        let path = self.root.full_path(path);
        match errno {
            Errno::NOENT => SourceError::Vanished(path),
            _ => SourceError::Io { path, action, source: io::Error::from(errno) },
        }
    }
}

/// The directory being listed, and the paths of the current name in it.
struct Place<'a> {
    fd: BorrowedFd<'a>,
    parent: &'a [u8],
    /// From the root, for messages.
    path: Vec<u8>,
    /// The path for system calls that take no directory.
    system_path: Vec<u8>,
    system_parent: usize,
}

impl<'a> Place<'a> {
    fn new(parent: &'a [u8], root: &Root, fd: &'a OwnedFd) -> Self {
        // Resolving a path takes half the time of going through /proc, but its length is limited.
        let mut system_path = root.path().as_os_str().as_bytes().to_vec();
        push_name(&mut system_path, parent);
        if system_path.len() + 1 + Name::MAX >= PATH_MAX {
            system_path = format!("/proc/self/fd/{}", fd.as_raw_fd()).into_bytes();
        }
        Self {
            fd: fd.as_fd(),
            parent,
            path: Vec::with_capacity(parent.len() + 64),
            system_parent: system_path.len(),
            system_path,
        }
    }

    fn enter(&mut self, name: &[u8]) {
        self.path.clear();
        self.path.extend_from_slice(self.parent);
        push_name(&mut self.path, name);
        self.system_path.truncate(self.system_parent);
        push_name(&mut self.system_path, name);
    }
}

/// The paths of the entries that are directories.
fn subdirectories(entries: &[Entry], parent: &[u8]) -> Vec<Box<[u8]>> {
    let is_directory = |entry: &&Entry| matches!(entry.kind, Kind::Directory(_));
    let path = |entry: &Entry| {
        let mut path = parent.to_vec();
        push_name(&mut path, entry.name.as_bytes());
        path.into_boxed_slice()
    };
    entries.iter().filter(is_directory).map(path).collect()
}

fn kind(parent: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> rustix::io::Result<Kind> {
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Kind::directory(),
        FileType::Symlink => {
            let target = readlinkat(parent, name, Vec::new())?;
            Kind::Symlink(target.into_bytes().into())
        }
        FileType::CharacterDevice => Kind::CharDevice(rdev(stat)),
        FileType::BlockDevice => Kind::BlockDevice(rdev(stat)),
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::RegularFile | FileType::Unknown => Kind::Regular { size: size_of(stat) },
    })
}

fn rdev(stat: &Stat) -> Rdev {
    Rdev { major: major(stat.st_rdev), minor: minor(stat.st_rdev) }
}

fn shared(stat: &Stat, kind: &Kind, options: &Options) -> Option<(u64, u64)> {
    let one_name =
        stat.st_nlink < 2 || options.dereference_hard_links || matches!(kind, Kind::Directory(_));
    (!one_name).then_some((stat.st_dev, stat.st_ino))
}

/// The attributes that `stat` returns.
pub(super) fn metadata(stat: &Stat) -> Metadata {
    Metadata {
        permissions: u16::try_from(stat.st_mode & 0o7777).expect("twelve bits"),
        uid: stat.st_uid,
        gid: stat.st_gid,
        mtime: Seen::new(stat).mtime(),
        ..Metadata::default()
    }
}
