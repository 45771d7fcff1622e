//! Does a tree that leaves as a directory or a tar come back as the same tree?
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail as the test itself may"
)]

use std::{
    fs::{self, File},
    io::Cursor,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::Command,
};

use lith_export::{ExtractOptions, MemberOrder, Selection, extract, write_tar};
use lith_source::{Options, Source};
use lith_tree::{
    DiffOptions, Filesystem, InodeIndex, Kind, MemoryContents, Metadata, Name, Timestamp, Tree,
    Xattr, diff, dump,
};
use proptest::{collection::vec, option, prelude::*};
use tempfile::TempDir;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// A tree of the golden images, made as root; none, said aloud, where that can't be.
fn golden_tree(name: &str, place: &TempDir) -> Option<PathBuf> {
    let path = place.path().join(name);
    let mut command = Command::new("python3");
    command.arg(golden().join("tree.py")).args(["make", name]);
    let done = command.arg(&path).output();
    if !done.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: making golden trees needs root, python3 and xattrs: {done:?}");
        return None;
    }
    Some(path)
}

fn scan(path: &Path) -> Source {
    lith_source::directory(path, &Options::default()).unwrap()
}

fn differences(left: Filesystem<'_>, right: &Source) -> Vec<String> {
    let mut lines = Vec::new();
    let workers = NonZeroUsize::new(2).unwrap();
    let options = DiffOptions::with(|options| options.workers = workers);
    diff(left, right.filesystem(), &options, &(), &mut |difference| {
        lines.push(difference.to_string());
    })
    .unwrap();
    lines
}

#[test]
fn the_dump_is_the_golden_text() {
    let place = tempfile::tempdir().unwrap();
    for name in ["meta", "data", "few"] {
        let Some(path) = golden_tree(name, &place) else {
            return;
        };
        let source = scan(&path);
        let mut text = Vec::new();
        dump(source.filesystem(), &mut text).unwrap();
        let expected = fs::read(golden().join(name).with_extension("txt")).unwrap();
        let lines = |text: &[u8]| -> Vec<String> {
            let text = String::from_utf8(text.to_vec()).unwrap();
            text.lines().map(str::to_owned).collect()
        };
        for (line, expected) in lines(&text).iter().zip(&lines(&expected)) {
            assert_eq!(line, expected);
        }
        assert_eq!(text.len(), expected.len());
    }
}

#[test]
fn golden_trees_come_back_from_a_directory() {
    let place = tempfile::tempdir().unwrap();
    for name in ["meta", "data"] {
        let Some(path) = golden_tree(name, &place) else {
            return;
        };
        let source = scan(&path);
        let whole = source.filesystem();
        let copy = place.path().join("copy").join(name);
        let options = ExtractOptions::default();
        let report = extract(whole, &Selection::all(), &copy, &options, &()).unwrap();
        assert_eq!(report.skipped, 0);
        assert_eq!(differences(whole, &scan(&copy)), [""; 0]);
    }
}

#[test]
fn golden_trees_come_back_from_a_tar() {
    let place = tempfile::tempdir().unwrap();
    for name in ["meta", "data"] {
        let Some(path) = golden_tree(name, &place) else {
            return;
        };
        let source = scan(&path);
        let whole = source.filesystem();
        let tar = place.path().join("golden.tar");
        let mut output = File::create(&tar).unwrap();
        write_tar(whole, &Selection::all(), MemberOrder::Path, &mut output, &()).unwrap();
        let file = File::open(&tar).unwrap();
        let back = lith_source::tar(file, &tar, &Options::default()).unwrap();
        let without_sockets: Vec<_> = differences(whole, &back)
            .into_iter()
            .filter(|line| line != "/dev/socket: only in the first")
            .collect();
        assert_eq!(without_sockets, [""; 0]);
    }
}

#[derive(Clone, Debug)]
struct Generated {
    path: Vec<Vec<u8>>,
    target: Option<Vec<u8>>,
    content: Vec<(bool, u16)>,
    mtime: (i64, u32),
    ids: (u32, u32),
    xattr: Option<(Vec<u8>, Vec<u8>)>,
}

fn any_file() -> impl Strategy<Value = Generated> {
    let name = vec(any::<u8>(), 1..120);
    let ids = (any::<u32>(), any::<u32>());
    let mtime = (any::<i32>().prop_map(i64::from), 0..1_000_000_000_u32);
    let target = option::of(vec(1..=255_u8, 1..300));
    let xattr = option::of((vec(1..=127_u8, 1..20), vec(any::<u8>(), 0..50)));
    let content = vec(any::<(bool, u16)>(), 0..6);
    (vec(name, 1..5), target, content, mtime, ids, xattr).prop_map(
        |(path, target, content, mtime, ids, xattr)| Generated {
            path,
            target,
            content,
            mtime,
            ids,
            xattr,
        },
    )
}

/// Adds a file with the directories above it; nothing where its path can't be.
fn add(tree: &mut Tree, contents: &mut MemoryContents, file: &Generated) -> Option<()> {
    let (last, above) = file.path.split_last()?;
    let mut at = InodeIndex::ROOT;
    for name in above {
        at = if let Some(directory) = tree.get(at).as_directory()?.get(name) {
            directory
        } else {
            let (name, kind) = (Name::new(name).ok()?, Kind::directory());
            tree.add(at, name, Metadata::default(), kind).ok()?
        };
    }
    let xattrs = file.xattr.iter().map(|(name, value)| Xattr {
        name: [b"user.", &**name].concat().into(),
        value: value.as_slice().into(),
    });
    let metadata = Metadata {
        permissions: 0o644,
        uid: file.ids.0,
        gid: file.ids.1,
        mtime: Timestamp { sec: file.mtime.0, nsec: file.mtime.1 },
        xattrs: tree.xattrs.intern(xattrs.collect()),
    };
    let name = Name::new(last).ok()?;
    if let Some(target) = &file.target {
        let kind = Kind::Symlink(target.as_slice().into());
        tree.add(at, name, metadata, kind).ok()?;
        return Some(());
    }
    let (mut size, mut stretches) = (0, Vec::new());
    for (is_data, length) in &file.content {
        let length = u64::from(*length);
        if *is_data {
            let bytes: Vec<u8> = (size..size + length).map(|i| (i % 255) as u8).collect();
            stretches.push((size, bytes));
        }
        size += length;
    }
    let inode = tree.add(at, name, metadata, Kind::Regular { size }).ok()?;
    let stretches = stretches.iter().map(|(start, bytes)| (*start, &**bytes));
    contents.insert_sparse(inode, size, stretches);
    let again = Name::new(&[b"again-", &last[..last.len().min(200)]].concat()).ok()?;
    tree.link(InodeIndex::ROOT, again, inode).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_tree_comes_back_from_a_tar(files in vec(any_file(), 0..12)) {
        let mut tree = Tree::new(Metadata::default());
        let mut contents = MemoryContents::default();
        for file in &files {
            add(&mut tree, &mut contents, file);
        }
        let mut bytes = Vec::new();
        let whole = Filesystem::new(&tree, &contents);
        write_tar(whole, &Selection::all(), MemberOrder::Path, &mut bytes, &()).unwrap();
        let spool = tempfile::tempdir().unwrap();
        let options = Options::with(|options| options.spool_dir = spool.path().to_owned());
        let back = lith_source::tar_stream(Cursor::new(bytes), Path::new("-"), &options).unwrap();
        prop_assert_eq!(differences(whole, &back), [""; 0]);
    }
}
