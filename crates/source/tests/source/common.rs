//! What do the tests of sources share?

use std::{
    collections::BTreeMap,
    error::Error,
    ffi::OsStr,
    fs::{self, File},
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use lith_source::{Options, Source, SourceError, directory};
use lith_tree::{DataRange, DisplayPath, InodeIndex, Kind, Metadata, Timestamp, XattrSet};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timestamps, XattrFlags};

/// All that a tree says of one name, with the content.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) inode: usize,
    pub(crate) letter: char,
    pub(crate) metadata: Metadata,
    pub(crate) nlink: u32,
    pub(crate) detail: String,
    pub(crate) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Blocks that are not all zeros.
    pub(crate) data: BTreeMap<u64, Vec<u8>>,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Metadata { permissions, uid, gid, mtime, .. } = self.metadata;
        write!(f, "#{} {} {permissions:o} {uid}:{gid}", self.inode, self.letter)?;
        write!(f, " {}.{:09} n{}", mtime.sec, mtime.nsec, self.nlink)?;
        write!(f, " {}", self.detail)?;
        for (name, value) in &self.xattrs {
            write!(f, " {}={}", DisplayPath(name), DisplayPath(value))?;
        }
        write!(f, " blocks {:?}", self.data.keys().collect::<Vec<_>>())
    }
}

pub(crate) type Rows = BTreeMap<Vec<u8>, Row>;

/// Everything in a source, by path.
pub(crate) fn rows(source: &Source) -> Rows {
    let tree = &source.tree;
    let mut paths = vec![Vec::new()];
    let mut rows = Rows::new();
    for visit in tree.walk() {
        paths.truncate(visit.depth.max(1));
        let mut path = paths.last().unwrap().clone();
        if let Some(name) = visit.name {
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            paths.push(path.clone());
        }
        rows.insert(path, row(source, visit.inode));
    }
    rows
}

fn row(source: &Source, inode: InodeIndex) -> Row {
    let file = source.tree.get(inode);
    let mut data = BTreeMap::new();
    let detail = match &file.kind {
        Kind::Regular { size } => {
            data = blocks(source, inode, *size);
            format!("{size}")
        }
        Kind::Symlink(target) => DisplayPath(target).to_string(),
        Kind::CharDevice(rdev) | Kind::BlockDevice(rdev) => format!("{rdev:?}"),
        Kind::Directory(directory) => format!("{}", directory.len()),
        Kind::Fifo | Kind::Socket => String::new(),
    };
    let xattrs = source.tree.xattrs.get(file.metadata.xattrs).iter();
    Row {
        inode: inode.index(),
        letter: file.kind.letter(),
        metadata: Metadata { xattrs: XattrSet::EMPTY, ..file.metadata },
        nlink: file.nlink(),
        detail,
        xattrs: xattrs.map(|x| (x.name.to_vec(), x.value.to_vec())).collect(),
        data,
    }
}

/// Reads a file's data, checks that its ranges tile it, and reads across them too.
fn blocks(source: &Source, inode: InodeIndex, size: u64) -> BTreeMap<u64, Vec<u8>> {
    let content = source.contents.open(&source.tree, inode).unwrap();
    let mut data = BTreeMap::new();
    let mut at = 0;
    while at < size {
        let (end, stored) = match content.range_at(at).unwrap() {
            DataRange::Data { end } => (end, true),
            DataRange::Hole { end } => (end, false),
        };
        assert!(at < end && end <= size, "{at} {end} {size}");
        // Of holes only the beginning and the end are read, with what is next to them.
        let reads = if stored {
            vec![(at & !4095, end)]
        } else {
            vec![(at & !4095, end.min(at + 8192)), (end.saturating_sub(100) & !4095, end)]
        };
        for (from, to) in reads {
            let mut position = from;
            while position < to {
                let length = (size - position).min(4096);
                let mut block = vec![0xaa; length as usize];
                content.read_at(&mut block, position).unwrap();
                if block.iter().any(|byte| *byte != 0) {
                    data.insert(position, block);
                }
                position += length;
            }
        }
        at = end;
    }
    assert!(size == 0 || content.read_at(&mut [0; 2], size - 1).is_err());
    content.check_unchanged().unwrap();
    data
}

/// Fails with a list of what differs.
pub(crate) fn assert_same(expected: &Rows, found: &Rows, what: &str) {
    let mut differences = Vec::new();
    for (path, row) in expected {
        match found.get(path) {
            None => differences.push(format!("{} missing", DisplayPath(path))),
            Some(other) if other != row => {
                differences.push(format!("{}\n  {row:?}\n  {other:?}", DisplayPath(path)));
            }
            Some(_) => {}
        }
    }
    let added = found.keys().filter(|path| !expected.contains_key(*path));
    differences.extend(added.map(|path| format!("{} added", DisplayPath(path))));
    assert!(differences.is_empty(), "{what}:\n{}", differences.join("\n"));
}

/// What GNU's format keeps: whole seconds and no attributes.
pub(crate) fn without_pax(mut rows: Rows) -> Rows {
    for row in rows.values_mut() {
        row.metadata.mtime.nsec = 0;
        row.xattrs.clear();
    }
    rows
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn set_mtime(path: &Path, time: Timestamp) {
    let spec = rustix::fs::Timespec { tv_sec: time.sec, tv_nsec: time.nsec.into() };
    let times = Timestamps { last_access: spec, last_modification: spec };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

pub(crate) fn set_xattr(path: &Path, name: &str, value: &[u8]) -> bool {
    rustix::fs::lsetxattr(path, name, value, XattrFlags::empty()).is_ok()
}

/// An ACL as Linux gives it, with one named user.
pub(crate) fn acl(user: u32) -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    let none = u32::MAX;
    for (tag, permissions, id) in
        [(1_u16, 6_u16, none), (2, 4, user), (4, 4, none), (16, 4, none), (32, 4, none)]
    {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// Bytes that are neither alike nor compressible.
pub(crate) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// A small tree that even the oldest format holds.
pub(crate) fn populate_plain(root: &Path) {
    fs::create_dir_all(root.join("dir/sub")).unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::write(root.join("dir/a"), "a\n").unwrap();
    fs::write(root.join("dir/sub/block"), noise(512, 1)).unwrap();
    fs::write(root.join("dir/sub/more"), noise(70_001, 2)).unwrap();
    fs::write(root.join("nothing"), "").unwrap();
    fs::hard_link(root.join("dir/a"), root.join("z-link")).unwrap();
    fs::hard_link(root.join("dir/a"), root.join("empty.link")).unwrap();
    symlink("dir/a", root.join("soft")).unwrap();
    fs::set_permissions(root.join("dir/a"), PermissionsExt::from_mode(0o4751)).unwrap();
    fs::set_permissions(root.join("empty"), PermissionsExt::from_mode(0o1777)).unwrap();
    let mut seconds = 1_000_000_000;
    for path in ["dir/a", "dir/sub/block", "dir/sub/more", "nothing", "soft", "dir/sub", "dir"] {
        seconds += 86_399;
        set_mtime(&root.join(path), Timestamp { sec: seconds, nsec: 0 });
    }
    for path in ["empty", ""] {
        set_mtime(&root.join(path), Timestamp { sec: 77, nsec: 0 });
    }
}

/// Most of what a Linux tree can hold, without sockets.
pub(crate) fn populate(root: &Path) {
    populate_plain(root);
    let odd = OsStr::from_bytes(b"odd \xff\n\\ \x1b=name");
    fs::create_dir(root.join(odd)).unwrap();
    fs::write(root.join(odd).join("x".repeat(255)), "long").unwrap();
    let deep = root.join(["d".repeat(90), "e".repeat(90), "f".repeat(200)].join("/"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "deep").unwrap();
    fs::hard_link(deep.join("file"), deep.join("link")).unwrap();
    symlink("t".repeat(300), root.join("long-target")).unwrap();
    symlink(OsStr::from_bytes(b"/\xfe"), root.join("odd-target")).unwrap();
    fs::hard_link(root.join("soft"), root.join("soft2")).unwrap();
    fs::write(root.join(".wh.gone"), "").unwrap();
    rustix::fs::mknodat(CWD, root.join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    populate_sparse(root);
    populate_as_root(root);
    let times = [(-1, 500_000_000), (-86_400_000, 1), (1 << 33, 999_999_999), (5, 123_456_789)];
    for (path, (sec, nsec)) in ["nothing", "soft", "dir/a", "dir"].iter().zip(times) {
        set_mtime(&root.join(path), Timestamp { sec, nsec });
    }
}

fn populate_sparse(root: &Path) {
    for (name, size, writes) in [
        ("hole-first", 300_000, &[(200_000_u64, 5000_usize)][..]),
        ("hole-between", 1 << 20, &[(0, 100), (500_000, 9000), ((1 << 20) - 3, 3)]),
        ("hole-last", 1 << 20, &[(0, 4096)]),
        ("hole-only", 1 << 20, &[]),
        ("huge", 5 << 30, &[(4 << 30, 7), ((5 << 30) - 4096, 4096)]),
    ] {
        let file = File::create(root.join(name)).unwrap();
        file.set_len(size).unwrap();
        for (at, length) in writes {
            file.write_all_at(&noise(*length, *at + 1), *at).unwrap();
        }
    }
    let many = File::create(root.join("many-holes")).unwrap();
    for at in (0..100).map(|n| n * 16_384) {
        many.write_all_at(b"data", at).unwrap();
    }
    many.set_len(1_700_001).unwrap();
}

fn populate_as_root(root: &Path) {
    let noted = root.join("noted");
    fs::write(&noted, "noted").unwrap();
    set_xattr(&noted, "user.binary", b"\0\n12 a=b\n\xff");
    set_xattr(&noted, "user.a=b%3D%25c", b"");
    set_xattr(&root.join("dir"), "user.on-dir", &noise(2000, 9));
    if !is_root() {
        eprintln!("skipped: owners, devices, trusted attributes and ACLs need root");
        return;
    }
    set_xattr(&noted, "trusted.t", b"t");
    set_xattr(
        &noted,
        "security.capability",
        &[1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
    set_xattr(&root.join("soft"), "trusted.soft", b"s");
    set_xattr(&root.join("nothing"), "system.posix_acl_access", &acl(54_321));
    set_xattr(&root.join("empty"), "system.posix_acl_default", &acl(12));
    for (name, kind) in [("null", FileType::CharacterDevice), ("disk", FileType::BlockDevice)] {
        let device = rustix::fs::makedev(259, 70_000);
        rustix::fs::mknodat(CWD, root.join(name), kind, Mode::RUSR, device).unwrap();
    }
    for (name, uid, gid) in [("huge", 4_294_967_294, 3_000_000), ("fifo", 2_097_152, 1)] {
        std::os::unix::fs::lchown(root.join(name), Some(uid), Some(gid)).unwrap();
    }
}

/// A populated directory and what it holds.
pub(crate) fn sample(populate: impl Fn(&Path)) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    populate(&root);
    (dir, root)
}

pub(crate) fn read_directory(root: &Path) -> Rows {
    rows(&directory(root, &Options::default()).unwrap())
}

/// Makes a tar with the system's tar.
pub(crate) fn system_tar(root: &Path, arguments: &[&str], members: &[&str]) -> Vec<u8> {
    let output = Command::new("tar")
        .args(arguments)
        .args(["--numeric-owner", "-cf", "-", "-C"])
        .arg(root)
        .args(members)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// What keeps everything in GNU tar.
pub(crate) const PAX: [&str; 3] = ["--format=pax", "--xattrs", "--xattrs-include=*"];

/// Pipes bytes through a program.
pub(crate) fn pipe(program: &str, arguments: &[&str], bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// A file that holds bytes, to be read in place.
pub(crate) fn file_of(bytes: &[u8]) -> File {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

pub(crate) fn read_tar(bytes: &[u8]) -> Result<Source, SourceError> {
    lith_source::tar(file_of(bytes), Path::new("test.tar"), &Options::default())
}

pub(crate) fn read_stream(bytes: &[u8], options: &Options) -> Result<Source, SourceError> {
    lith_source::tar_stream(bytes, Path::new("test.tar"), options)
}

/// An error with all its causes, on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Builds tars member by member.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) bytes: Vec<u8>,
}

impl Builder {
    /// A ustar member of a type, with data.
    pub(crate) fn member(mut self, flag: u8, name: &str, link: &str, data: &[u8]) -> Self {
        let header = header(flag, name, link, data.len() as u64);
        self.bytes.extend_from_slice(&header);
        self.data(data)
    }

    pub(crate) fn file(self, name: &str, data: &[u8]) -> Self {
        self.member(b'0', name, "", data)
    }

    pub(crate) fn dir(self, name: &str) -> Self {
        self.member(b'5', name, "", b"")
    }

    pub(crate) fn link(self, name: &str, target: &str) -> Self {
        self.member(b'1', name, target, b"")
    }

    /// An extended header.
    pub(crate) fn pax(self, flag: u8, records: &[(&str, &[u8])]) -> Self {
        let records: Vec<u8> = records.iter().flat_map(|(key, value)| record(key, value)).collect();
        self.member(flag, "PaxHeaders", "", &records)
    }

    pub(crate) fn data(mut self, data: &[u8]) -> Self {
        self.bytes.extend_from_slice(data);
        let padded = self.bytes.len().next_multiple_of(512);
        self.bytes.resize(padded, 0);
        self
    }

    /// The tar with its end marker.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(&[0; 1024]);
        self.bytes
    }
}

pub(crate) fn header(flag: u8, name: &str, link: &str, size: u64) -> [u8; 512] {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_size(size);
    header.set_mode(0o640);
    header.set_uid(11);
    header.set_gid(12);
    header.set_mtime(13);
    header.set_entry_type(tar::EntryType::new(flag));
    header.set_cksum();
    *header.as_bytes()
}

/// Puts bytes into a header and makes its checksum fit.
pub(crate) fn patch(header: &mut [u8], at: usize, bytes: &[u8]) {
    header[at..at + bytes.len()].copy_from_slice(bytes);
    header[148..156].fill(b' ');
    let sum: u32 = header[..512].iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

pub(crate) fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let body = key.len() + value.len() + 3;
    let length = (body..body + 9).find(|n| n.to_string().len() + body == *n).unwrap();
    [format!("{length} {key}=").as_bytes(), value, b"\n"].concat()
}
