//! Defines what the tests of this crate share: a tree of everything, and a scan of a directory to compare with it.

use std::{
    collections::HashMap,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, MetadataExt, PermissionsExt},
    },
    path::Path,
    sync::Mutex,
};

use lith_tree::{
    Aspects, DiffOptions, Filesystem, InodeIndex, Kind, MemoryContents, Metadata, Name, Rdev,
    Timestamp, Tree, Xattr, XattrSet, diff,
};
use rustix::{
    fs::{lgetxattr, llistxattr, major, minor},
    process::{getegid, geteuid},
};

use lith_observer::Observer;

use crate::{ExportObserver, Skipped};

pub(crate) const ROOT: InodeIndex = InodeIndex::ROOT;

/// A tree with its content.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) tree: Tree,
    pub(crate) contents: MemoryContents,
}

/// Metadata of the process's own user, with these permissions.
pub(crate) fn metadata(permissions: u16) -> Metadata {
    Metadata {
        permissions,
        uid: geteuid().as_raw(),
        gid: getegid().as_raw(),
        mtime: Timestamp { sec: 1_600_000_000 + i64::from(permissions), nsec: 123_456_789 },
        xattrs: XattrSet::EMPTY,
    }
}

pub(crate) fn is_root() -> bool {
    geteuid().is_root()
}

impl Sample {
    pub(crate) fn new() -> Self {
        Self { tree: Tree::new(metadata(0o755)), contents: MemoryContents::default() }
    }

    pub(crate) fn place<'p>(&self, path: &'p [u8]) -> (InodeIndex, Name) {
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let parent: &'p [u8] = &path[..slash.unwrap_or(0)];
        let name = &path[slash.map_or(0, |slash| slash + 1)..];
        (self.find(parent), Name::new(name).unwrap())
    }

    pub(crate) fn find(&self, path: &[u8]) -> InodeIndex {
        self.tree.find(path).unwrap()
    }

    pub(crate) fn node(&mut self, path: &[u8], mode: u16, kind: Kind) -> InodeIndex {
        let (parent, name) = self.place(path);
        self.tree.add(parent, name, metadata(mode), kind).unwrap()
    }

    pub(crate) fn directory(&mut self, path: &[u8], mode: u16) -> InodeIndex {
        self.node(path, mode, Kind::directory())
    }

    pub(crate) fn file(&mut self, path: &[u8], mode: u16, bytes: &[u8]) -> InodeIndex {
        let place = self.place(path);
        let contents = &mut self.contents;
        contents.add(&mut self.tree, place, metadata(mode), bytes).unwrap()
    }

    pub(crate) fn sparse(&mut self, path: &[u8], size: u64, data: &[(u64, &[u8])]) {
        let inode = self.node(path, 0o644, Kind::Regular { size });
        let data = data.iter().copied();
        self.contents.insert_sparse(inode, size, data);
    }

    pub(crate) fn symlink(&mut self, path: &[u8], target: &[u8]) {
        self.node(path, 0o777, Kind::Symlink(target.into()));
    }

    pub(crate) fn link(&mut self, path: &[u8], first: &[u8]) {
        let (parent, name) = self.place(path);
        self.tree.link(parent, name, self.find(first)).unwrap();
    }

    pub(crate) fn metadata(&mut self, path: &[u8]) -> &mut Metadata {
        let inode = self.find(path);
        &mut self.tree.get_mut(inode).metadata
    }

    pub(crate) fn xattr(&mut self, path: &[u8], name: &str, value: &[u8]) {
        let inode = self.find(path);
        self.tree.add_xattr(inode, name.as_bytes(), value);
    }

    /// Everything that any user can extract, except user.* xattrs, which not every filesystem supports.
    pub(crate) fn of_everything() -> Self {
        let mut sample = Self::new();
        sample.directory(b"dir", 0o2751);
        sample.directory(b"dir/closed", 0o500);
        sample.directory(b"dir/closed/empty", 0o1777);
        sample.file(b"dir/closed/file", 0o400, b"in a directory without write permission");
        sample.file(b"dir/none", 0, b"no permission at all");
        sample.file(b"empty", 0o644, b"");
        sample.file(b"setuid", 0o6755, b"#!/bin/sh\n");
        sample.file(b"large", 0o600, &vec![7; 3_000_000]);
        sample.file(b"open", 0o666, b"more than a umask leaves");
        sample.symlink(b"symlink", b"../outside/\xff\n");
        sample.file(b"names-\xff\n\\ \xc3\xbc", 0o644, b"odd");
        sample.file(&[b'n'; 255], 0o644, b"long");
        sample.node(b"fifo", 0o622, Kind::Fifo);
        sample.link(b"dir/hard", b"large");
        sample.link(b"a-hard", b"large");
        sample.link(b"dir/symlink", b"symlink");
        sample.link(b"dir/fifo", b"fifo");
        sample.sparse(b"sparse", 1_000_000, &[(100_000, b"abc"), (500_000, &vec![1; 70_000])]);
        sample.sparse(b"hole", 300_000, &[]);
        sample.metadata(b"empty").mtime = Timestamp { sec: -2, nsec: 5 };
        sample.metadata(b"symlink").mtime = Timestamp { sec: 1, nsec: 9 };
        sample
    }

    /// Adds what only root can make.
    pub(crate) fn add_what_root_makes(&mut self) {
        let rdev = Rdev { major: 1, minor: 3 };
        self.node(b"null", 0o666, Kind::CharDevice(rdev));
        let rdev = Rdev { major: 259, minor: 0x12345 };
        self.node(b"dir/block", 0o660, Kind::BlockDevice(rdev));
        for (path, uid, gid) in [
            (&b"setuid"[..], 1000, 1001),
            (b"dir/none", 70_000, 5),
            (b"dir", 1, 2),
            (b"symlink", 12, 13),
            (b"fifo", 0, 77),
            (b"null", 3, 3),
        ] {
            let metadata = self.metadata(path);
            (metadata.uid, metadata.gid) = (uid, gid);
        }
        // cap_net_bind_service, effective, revision 2.
        let words = [0x0200_0001_u32, 1 << 10, 0, 0, 0];
        let capability: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.xattr(b"setuid", "security.capability", &capability);
        self.xattr(b"dir", "trusted.mark", b"\0\xff");
        self.xattr(b"symlink", "trusted.mark", b"on a link");
        self.xattr(b"fifo", "trusted.mark", b"on a fifo");
        self.xattr(b"dir/none", "user.note", b"");
        self.xattr(b"dir", "system.posix_acl_default", &acl());
        self.xattr(b"large", "system.posix_acl_access", &acl());
        self.metadata(b"large").permissions = 0o750;
    }

    /// Reads a directory back.
    pub(crate) fn scan(directory: &Path) -> Self {
        let mut scan = Scan { sample: Self::new(), seen: HashMap::new() };
        let root = scan.metadata(directory);
        scan.sample.tree.get_mut(ROOT).metadata = root;
        scan.directory(directory, ROOT);
        scan.sample
    }

    /// The differences to `other`, as text.
    pub(crate) fn differences(&self, other: &Self, ignore: Aspects) -> Vec<String> {
        let options = DiffOptions::with(|options| options.ignore = ignore);
        let mut lines = Vec::new();
        diff(
            Filesystem::new(&self.tree, &self.contents),
            Filesystem::new(&other.tree, &other.contents),
            &options,
            &(),
            &mut |difference| lines.push(difference.to_string()),
        )
        .unwrap();
        lines
    }
}

/// An ACL that lets user 1000 read and run, and mask 5.
fn acl() -> Vec<u8> {
    let none = u32::MAX;
    let entries = [(1, 7, none), (2, 5, 1000), (4, 5, none), (0x10, 5, none), (0x20, 0, none)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(u16::to_le_bytes(tag));
        bytes.extend(u16::to_le_bytes(permissions));
        bytes.extend(u32::to_le_bytes(id));
    }
    bytes
}

struct Scan {
    sample: Sample,
    seen: HashMap<(u64, u64), InodeIndex>,
}

impl Scan {
    fn directory(&mut self, directory: &Path, inode: InodeIndex) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = Name::new(entry.file_name().as_bytes()).unwrap();
            self.entry(&entry.path(), inode, name);
        }
    }

    fn entry(&mut self, path: &Path, parent: InodeIndex, name: Name) {
        let status = fs::symlink_metadata(path).unwrap();
        let key = (status.dev(), status.ino());
        if let Some(inode) = self.seen.get(&key) {
            return self.sample.tree.link(parent, name, *inode).unwrap();
        }
        let metadata = self.metadata(path);
        let kind = kind(path, &status);
        let tree = &mut self.sample.tree;
        let inode = tree.add(parent, name, metadata, kind).unwrap();
        if status.is_dir() {
            return self.directory(path, inode);
        }
        self.seen.insert(key, inode);
        if status.is_file() {
            let contents = &mut self.sample.contents;
            contents.insert(inode, read_anyway(path));
        }
    }

    fn metadata(&mut self, path: &Path) -> Metadata {
        let status = fs::symlink_metadata(path).unwrap();
        Metadata {
            permissions: u16::try_from(status.mode() & 0o7777).unwrap(),
            uid: status.uid(),
            gid: status.gid(),
            mtime: Timestamp { sec: status.mtime(), nsec: status.mtime_nsec().try_into().unwrap() },
            xattrs: self.sample.tree.xattrs.intern(xattrs(path)),
        }
    }
}

fn kind(path: &Path, status: &fs::Metadata) -> Kind {
    let file_type = status.file_type();
    let rdev = Rdev { major: major(status.rdev()), minor: minor(status.rdev()) };
    match () {
        () if file_type.is_dir() => Kind::directory(),
        () if file_type.is_file() => Kind::Regular { size: status.len() },
        () if file_type.is_char_device() => Kind::CharDevice(rdev),
        () if file_type.is_block_device() => Kind::BlockDevice(rdev),
        () if file_type.is_fifo() => Kind::Fifo,
        () if file_type.is_socket() => Kind::Socket,
        () => Kind::Symlink(fs::read_link(path).unwrap().as_os_str().as_bytes().into()),
    }
}

/// Reads a file even if its mode forbids that to its owner.
fn read_anyway(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|_| {
        let permissions = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
        let bytes = fs::read(path).unwrap();
        fs::set_permissions(path, permissions).unwrap();
        bytes
    })
}

fn xattrs(path: &Path) -> Vec<Xattr> {
    let mut list = vec![0; 1 << 16];
    let length = llistxattr(path, &mut list[..]).unwrap_or(0);
    let names = list[..length].split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty())
        .map(|name| {
            let mut value = vec![0; 1 << 16];
            let length = lgetxattr(path, name, &mut value[..]).unwrap();
            let value = value[..length].into();
            Xattr { name: name.into(), value }
        })
        .collect()
}

/// Keeps what was skipped.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {}

impl ExportObserver for Notes {
    fn skipped(&self, skipped: &Skipped) {
        self.0.lock().unwrap().push(skipped.to_string());
    }
}

impl Notes {
    pub(crate) fn sorted(self) -> Vec<String> {
        let mut notes = self.0.into_inner().unwrap();
        notes.sort();
        notes
    }
}
