//! Tests that all differences are found, in order.

use std::{io, num::NonZeroUsize};

use lith_observer::{Phase, Progress};

use super::*;
use crate::{
    Content, ContentError, Contents, DataRange, InodeIndex, Kind, MemoryContents, Metadata, Name,
    Rdev, Timestamp, Tree, Xattr,
};

const ROOT: InodeIndex = InodeIndex::ROOT;
const PLAIN: Metadata = Metadata {
    permissions: 0o644,
    uid: 0,
    gid: 0,
    mtime: Timestamp { sec: 0, nsec: 0 },
    xattrs: crate::XattrSet::EMPTY,
};

#[derive(Clone)]
struct Sample {
    tree: Tree,
    contents: MemoryContents,
}

impl Sample {
    fn new() -> Self {
        let mut sample = Self { tree: Tree::new(PLAIN), contents: MemoryContents::default() };
        let dir = sample.node(ROOT, "dir", Kind::directory());
        sample.file(dir, "deep", b"same");
        let file = sample.file(ROOT, "file", b"0123456789");
        sample.tree.link(ROOT, name("hard"), file).unwrap();
        sample.node(ROOT, "link", Kind::Symlink(b"file".as_slice().into()));
        sample.node(ROOT, "null", Kind::CharDevice(Rdev { major: 1, minor: 3 }));
        sample
    }

    fn node(&mut self, parent: InodeIndex, path: &str, kind: Kind) -> InodeIndex {
        self.tree.add(parent, name(path), PLAIN, kind).unwrap()
    }

    fn file(&mut self, parent: InodeIndex, path: &str, bytes: &[u8]) -> InodeIndex {
        let place = (parent, name(path));
        self.contents.add(&mut self.tree, place, PLAIN, bytes).unwrap()
    }

    fn find(&self, path: &str) -> InodeIndex {
        self.tree.find(path.as_bytes()).unwrap()
    }

    fn metadata(&mut self, path: &str) -> &mut Metadata {
        let inode = self.find(path);
        &mut self.tree.get_mut(inode).metadata
    }

    fn set_xattrs(&mut self, path: &str, xattrs: &[(&str, &[u8])]) {
        let xattrs = xattrs
            .iter()
            .map(|(name, value)| Xattr { name: name.as_bytes().into(), value: (*value).into() });
        let set = self.tree.xattrs.intern(xattrs.collect());
        self.metadata(path).xattrs = set;
    }
}

fn name(name: &str) -> Name {
    Name::new(name.as_bytes()).unwrap()
}

fn lines_with(left: &Sample, right: &Sample, options: &DiffOptions) -> Vec<String> {
    let mut lines = Vec::new();
    diff(
        Filesystem::new(&left.tree, &left.contents),
        Filesystem::new(&right.tree, &right.contents),
        options,
        &(),
        &mut |difference| lines.push(difference.to_string()),
    )
    .unwrap();
    lines
}

fn lines(left: &Sample, right: &Sample) -> Vec<String> {
    lines_with(left, right, &DiffOptions::default())
}

#[test]
fn equal_trees_have_no_difference() {
    assert_eq!(lines(&Sample::new(), &Sample::new()), [""; 0]);
}

#[test]
fn every_attribute_counts() {
    let (left, mut right) = (Sample::new(), Sample::new());
    *right.metadata("dir") = Metadata {
        permissions: 0o4755,
        uid: 1,
        gid: 2,
        mtime: Timestamp { sec: -1, nsec: 7 },
        ..PLAIN
    };
    let null = right.find("null");
    right.tree.get_mut(null).kind = Kind::CharDevice(Rdev { major: 1, minor: 5 });
    let link = right.find("link");
    right.tree.get_mut(link).kind = Kind::Symlink(b"\xff".as_slice().into());
    let expected = [
        "/dir: mode 0644 -> 4755",
        "/dir: uid 0 -> 1",
        "/dir: gid 0 -> 2",
        "/dir: mtime 0.000000000 -> -1.000000007",
        "/link: target file -> \\xff",
        "/null: rdev 1:3 -> 1:5",
    ];
    assert_eq!(lines(&left, &right), expected);
    let options =
        DiffOptions { ignore: Aspects::OWNERS | Aspects::MTIME, ..DiffOptions::default() };
    let shorter = [expected[0], expected[4], expected[5]];
    assert_eq!(lines_with(&left, &right, &options), shorter);
}

#[test]
fn names_and_kinds_count_with_all_below() {
    let (mut left, mut right) = (Sample::new(), Sample::new());
    let only = left.node(ROOT, "a", Kind::directory());
    left.file(only, "b", b"");
    right.file(ROOT, "dir.", b"");
    right.tree.remove(ROOT, b"link");
    let other = right.node(ROOT, "link", Kind::directory());
    right.node(other, "sub", Kind::Fifo);
    let expected = [
        "/a: only in the first",
        "/a/b: only in the first",
        "/dir.: only in the second",
        "/link: type l -> d",
        "/link/sub: only in the second",
    ];
    assert_eq!(lines(&left, &right), expected);
}

#[test]
fn link_structure_counts() {
    let (left, mut right) = (Sample::new(), Sample::new());
    right.tree.remove(ROOT, b"hard");
    right.file(ROOT, "hard", b"0123456789");
    let expected =
        ["/file: nlink 2 -> 1", "/hard: same file as /file -> /hard", "/hard: nlink 2 -> 1"];
    assert_eq!(lines(&left, &right), expected);
    let options = DiffOptions { ignore: Aspects::LINKS, ..DiffOptions::default() };
    assert_eq!(lines_with(&left, &right, &options), [""; 0]);
}

#[test]
fn a_file_with_two_names_is_told_once() {
    let (left, mut right) = (Sample::new(), Sample::new());
    let file = right.find("file");
    right.contents.insert(file, *b"012345678!");
    assert_eq!(lines(&left, &right), ["/file: content at 9: 0x39 -> 0x21"]);
}

#[test]
fn sizes_count_before_bytes() {
    let (left, mut right) = (Sample::new(), Sample::new());
    let deep = right.find("dir/deep");
    right.tree.get_mut(deep).kind = Kind::Regular { size: 3 };
    right.contents.insert(deep, *b"abc");
    assert_eq!(lines(&left, &right), ["/dir/deep: size 4 -> 3"]);
}

#[test]
fn xattrs_count_one_by_one() {
    let (mut left, mut right) = (Sample::new(), Sample::new());
    left.set_xattrs("file", &[("user.a", b"1"), ("user.b", b"2"), ("user.c", b"3")]);
    right.set_xattrs("file", &[("user.b", b"x"), ("user.c", b"3"), ("user.d", b"")]);
    let expected = [
        "/file: xattr user.a only in the first",
        "/file: xattr user.b 0x32 -> 0x78",
        "/file: xattr user.d only in the second",
    ];
    assert_eq!(lines(&left, &right), expected);
}

/// Two trees with a large sparse file, differing in a byte of the given positions.
fn sparse(differing: &[u64]) -> (Sample, Sample) {
    let size = 40 << 20;
    let (mut left, mut right) = (Sample::new(), Sample::new());
    for sample in [&mut left, &mut right] {
        sample.node(ROOT, "big", Kind::Regular { size });
    }
    let big = right.find("big");
    let stretches = differing.iter().map(|position| (*position, &b"x"[..]));
    right.contents.insert_sparse(big, size, stretches);
    (left, right)
}

#[test]
fn a_hole_equals_zeros_and_nothing_else() {
    let (mut left, right) = sparse(&[]);
    let big = left.find("big");
    left.contents.insert(big, vec![0; 40 << 20]);
    assert_eq!(lines(&left, &right), [""; 0]);
    let (left, right) = sparse(&[(40 << 20) - 1]);
    let expected = ["/big: content at 41943039: 0x00 -> 0x78"];
    assert_eq!(lines(&left, &right), expected);
}

#[test]
fn holes_of_any_size_are_skipped() {
    let (mut left, mut right) = (Sample::new(), Sample::new());
    let size = u64::MAX;
    let place = 1 << 62;
    for (sample, byte) in [(&mut left, b"x"), (&mut right, b"y")] {
        let endless = sample.node(ROOT, "endless", Kind::Regular { size });
        sample.contents.insert_sparse(endless, size, [(place, &byte[..])]);
    }
    let expected = [format!("/endless: content at {place}: 0x78 -> 0x79")];
    assert_eq!(lines(&left, &right), expected);
}

#[test]
fn any_number_of_workers_tells_the_same() {
    let (mut left, mut right) = sparse(&[9 << 20, 20 << 20, 35 << 20]);
    for number in 0..500 {
        let path = format!("many-{number:03}");
        left.file(ROOT, &path, &[0; 5000]);
        let mut bytes = [0; 5000];
        bytes[number] = u8::from(number % 3 == 0);
        right.file(ROOT, &path, &bytes);
        right.metadata(&path).uid = 5 * u32::from(number % 7 == 0);
    }
    let one = lines(&left, &right);
    assert_eq!(one.len(), 1 + 167 + 72);
    assert_eq!(one[0], "/big: content at 9437184: 0x00 -> 0x78");
    for workers in [2, 5] {
        let options =
            DiffOptions { workers: NonZeroUsize::new(workers).unwrap(), ..DiffOptions::default() };
        assert_eq!(lines_with(&left, &right, &options), one);
    }
}

/// Contents that fail at one file.
struct Failing(InodeIndex);

impl Contents for Failing {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        if inode == self.0 {
            return Err(ContentError::Io {
                path: String::from_utf8(tree.path(inode)).unwrap().into(),
                action: "open",
                source: io::ErrorKind::PermissionDenied.into(),
            });
        }
        Ok(Box::new(Zeros))
    }
}

struct Zeros;

impl Content for Zeros {
    fn read_at(&self, buf: &mut [u8], _position: u64) -> Result<(), ContentError> {
        buf.fill(0);
        Ok(())
    }

    /// Does not advance, as a wrong implementation might.
    fn range_at(&self, position: u64) -> Result<DataRange, ContentError> {
        Ok(DataRange::Data { end: position })
    }

    fn check_unchanged(&self) -> Result<(), ContentError> {
        Ok(())
    }
}

#[test]
fn an_unreadable_file_ends_it_after_what_comes_before() {
    let sample = Sample::new();
    let failing = Failing(sample.find("file"));
    for workers in [1, 4] {
        let options =
            DiffOptions { workers: NonZeroUsize::new(workers).unwrap(), ..DiffOptions::default() };
        let mut found = Vec::new();
        let result = diff(
            Filesystem::new(&sample.tree, &sample.contents),
            Filesystem::new(&sample.tree, &failing),
            &options,
            &(),
            &mut |difference| found.push(difference.to_string()),
        );
        assert_eq!(result.unwrap_err().side(), Some(Side::Right));
        assert_eq!(found, ["/dir/deep: content at 0: 0x73 -> 0x00"]);
    }
}

#[test]
fn progress_counts_the_bytes_to_compare_and_cancelling_ends_it() {
    let mut left = Sample::new();
    left.file(ROOT, "large", &vec![1; 20 << 20]);
    let mut right = left.clone();
    right.metadata("link").uid = 5;
    right.file(ROOT, "more", b"x");
    for workers in [1, 4] {
        let options =
            DiffOptions { workers: NonZeroUsize::new(workers).unwrap(), ..DiffOptions::default() };
        let run = |observer: &Progress| {
            let (mut found, left) = (0, Filesystem::new(&left.tree, &left.contents));
            let right = Filesystem::new(&right.tree, &right.contents);
            (diff(left, right, &options, observer, &mut |_| found += 1), found)
        };
        let progress = Progress::default();
        let (result, found) = run(&progress);
        assert_eq!((result.is_ok(), found, progress.phase()), (true, 2, Phase::Comparing));
        assert_eq!((progress.done(), progress.total()), (14 + (20 << 20), 14 + (20 << 20)));
        progress.cancel();
        let (result, _) = run(&progress);
        assert!(matches!(result, Err(DiffError::Cancelled)));
    }
}
