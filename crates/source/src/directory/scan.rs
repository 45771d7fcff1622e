//! Lists directories: names, attributes and xattrs of their entries.

use std::{
    collections::HashSet,
    ffi::CStr,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    os::unix::ffi::OsStrExt,
};

use lith_beneath::{LIST, Root};
use lith_system::Status;
use lith_tree::{Kind, Metadata, Name, Rdev, Xattr, push_name};
use rustix::{
    fs::{
        Access, AtFlags, FileType, RawDir, Stat, accessat, fstat, major, minor, readlinkat, statat,
    },
    io::Errno,
};

use super::xattrs::{Target, XattrReader};
use crate::{
    OnError, Options, SourceError,
    limits::PATH_MAX,
    note::{NoteKind, Notes},
    prune::Fate,
    seen::Seen,
};

/// Bytes of directory entries read at once.
const ENTRIES: usize = 32 << 10;

/// One directory's entries in ascending order of their names' bytes.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The directory's own attributes.
    pub(super) xattrs: Vec<Xattr>,
    pub(super) entries: Vec<Entry>,
    /// The paths of the subdirectories, in the order of their entries, and what becomes of them.
    pub(super) subdirectories: Vec<(Box<[u8]>, Fate)>,
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
    pub(super) fate: Fate,
}

/// What is read of a directory.
pub(super) struct Rules<'a> {
    pub(super) root: &'a Root,
    pub(super) options: &'a Options,
    /// The paths from the root of files that are about to be made.
    pub(super) outputs: HashSet<Box<[u8]>>,
    /// The filesystem that is read; `None`: all.
    pub(super) device: Option<u64>,
    /// Whether the user may be refused to read files.
    pub(super) checks_access: bool,
}

/// Lists directories, one after the other.
pub(super) struct Scanner<'a> {
    rules: &'a Rules<'a>,
    reader: XattrReader,
    pub(super) notes: Notes,
    /// Why files can't be read, unless they are left out.
    pub(super) failures: Vec<SourceError>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(rules: &'a Rules<'a>) -> Self {
        Self {
            rules,
            reader: XattrReader::default(),
            notes: Notes::default(),
            failures: Vec::new(),
        }
    }

    /// Lists the directory at `path`, which is empty if it can't be read.
    pub(super) fn scan(&mut self, path: &[u8], fate: Fate) -> Listing {
        let mut listing = Listing::default();
        if let Err(error) = self.list(path, fate, &mut listing) {
            self.fail(path, error);
        }
        listing.entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        listing.subdirectories = subdirectories(&listing.entries, path);
        listing
    }

    /// Adds the attributes of a directory and its entries to `listing`.
    fn list(&mut self, path: &[u8], fate: Fate, listing: &mut Listing) -> Result<(), SourceError> {
        let root = self.rules.root;
        let fd = root.open_beneath(path, LIST).map_err(|errno| self.error(path, "open", errno))?;
        listing.xattrs = self.xattrs(Target::Fd(fd.as_fd()), path)?;
        if let Some(device) = self.rules.device {
            let stat = fstat(&fd).map_err(|e| self.error(path, "read the attributes", e))?;
            if stat.st_dev != device {
                self.notes.add(NoteKind::OtherFilesystem, path);
                return Ok(());
            }
        }
        let mut place = Place::new(path, root, &fd);
        let mut buffer = Vec::with_capacity(ENTRIES);
        let mut names = RawDir::new(&fd, buffer.spare_capacity_mut());
        while let Some(entry) = names.next() {
            let entry = entry.map_err(|errno| self.error(path, "list", errno))?;
            match self.entry(&mut place, fate, entry.file_name()) {
                Ok(entry) => listing.entries.extend(entry),
                Err(error) => self.fail(&place.path, error),
            }
        }
        Ok(())
    }

    /// Keeps the reason why a file can't be read, as a note if it is left out.
    fn fail(&mut self, path: &[u8], error: SourceError) {
        match self.rules.options.on_error {
            OnError::Skip if error.is_of_file() => {
                self.notes.add_unreadable(path, error.reason());
            }
            OnError::Skip | OnError::Fail => self.failures.push(error),
        }
    }

    /// Reads the attributes of one name in a directory with the fate `above`; `None` if it is left out.
    fn entry(
        &mut self,
        place: &mut Place<'_>,
        above: Fate,
        name: &CStr,
    ) -> Result<Option<Entry>, SourceError> {
        let bytes = name.to_bytes();
        if bytes == b"." || bytes == b".." {
            return Ok(None);
        }
        let exclude = &self.rules.options.exclude;
        let fate = Fate::new(exclude, above, (place.parent, bytes), true);
        if fate == Fate::LeftOut {
            return Ok(None);
        }
        place.enter(bytes);
        if self.rules.outputs.contains(&*place.path) {
            self.notes.add(NoteKind::Output, &place.path);
            return Ok(None);
        }
        let stat = statat(place.fd, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| self.error(&place.path, "read the attributes", errno))?;
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !is_directory && fate == Fate::Provisional {
            return Ok(None);
        }
        if !is_directory && self.rules.device.is_some_and(|device| stat.st_dev != device) {
            self.notes.add(NoteKind::OtherFilesystem, &place.path);
            return Ok(None);
        }
        self.check_access(place, name, &stat)?;
        let kind = kind(place.fd, name, &stat)
            .map_err(|errno| self.error(&place.path, "read the link", errno))?;
        let xattrs = match kind {
            Kind::Directory(_) => Vec::new(),
            _ => self.xattrs(Target::Path(&place.system_path), &place.path)?,
        };
        let name = Name::new(bytes).map_err(|source| SourceError::Name {
            path: self.rules.root.full_path(&place.path),
            source,
        })?;
        Ok(Some(Entry {
            name,
            metadata: metadata(&stat),
            xattrs,
            seen: Seen::new(&status(&stat)),
            shared: shared(&stat, &kind, self.rules.options),
            kind,
            fate,
        }))
    }

    /// Refuses a regular file that the user may not read.
    fn check_access(&self, place: &Place<'_>, name: &CStr, stat: &Stat) -> Result<(), SourceError> {
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !self.rules.checks_access || !is_file || stat.st_mode & 0o444 == 0o444 {
            return Ok(());
        }
        match accessat(place.fd, name, Access::READ_OK, AtFlags::EACCESS) {
            Err(errno @ (Errno::ACCESS | Errno::PERM)) => {
                Err(self.error(&place.path, "open", errno))
            }
            // Whatever else there is to say, opening it will.
            _ => Ok(()),
        }
    }

    /// The extended attributes of one file, if the options request them.
    pub(super) fn xattrs(
        &mut self,
        target: Target<'_>,
        path: &[u8],
    ) -> Result<Vec<Xattr>, SourceError> {
        if !self.rules.options.xattrs {
            return Ok(Vec::new());
        }
        let notes = &mut self.notes;
        let found = self.reader.read(target, |kind| notes.add(kind, path));
        found.map_err(|errno| self.error(path, "read the extended attributes", errno))
    }

    fn error(&self, path: &[u8], action: &'static str, errno: Errno) -> SourceError {
        let path = self.rules.root.full_path(path);
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

/// The paths of the entries that are directories, and what becomes of them.
fn subdirectories(entries: &[Entry], parent: &[u8]) -> Vec<(Box<[u8]>, Fate)> {
    let is_directory = |entry: &&Entry| matches!(entry.kind, Kind::Directory(_));
    let path = |entry: &Entry| {
        let mut path = parent.to_vec();
        push_name(&mut path, entry.name.as_bytes());
        (path.into_boxed_slice(), entry.fate)
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
        FileType::RegularFile | FileType::Unknown => Kind::Regular { size: status(stat).size },
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
        mtime: Seen::new(&status(stat)).mtime(),
        ..Metadata::default()
    }
}

/// What `stat` returns, as what changes of a file are seen by.
#[expect(
    clippy::useless_conversion,
    reason = "the fields of stat have other types on other machines"
)]
fn status(stat: &Stat) -> Status {
    // A filesystem in user space may report any number, also a negative size.
    let nanoseconds = |nsec: i128| u32::try_from(nsec).unwrap_or(0);
    Status {
        is_file: FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        id: Some((stat.st_dev, stat.st_ino.into())),
        mtime: (stat.st_mtime.into(), nanoseconds(stat.st_mtime_nsec.into())),
        ctime: (stat.st_ctime.into(), nanoseconds(stat.st_ctime_nsec.into())),
        allocated: u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512),
        links: stat.st_nlink.into(),
        mode: Some(stat.st_mode),
        owner: Some((stat.st_uid, stat.st_gid)),
    }
}
