//! Is a directory read as it is, and is every trouble with it told?

use std::{
    fs::{self, File},
    io::Write,
    num::NonZeroUsize,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
};

use crate::common::*;
use lith_source::{Excludes, NoteKind, Opened, Options, SourceError, directory};
use lith_tree::{ContentError, InodeIndex, Kind, Metadata, Name};
use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, openat};

fn keys(rows: &Rows) -> Vec<String> {
    rows.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

#[test]
fn attributes_are_what_the_system_says() {
    let (_dir, root) = sample(populate);
    UnixListener::bind(root.join("socket")).unwrap();
    let rows = read_directory(&root);
    for (path, row) in &rows {
        let path = root.join(std::ffi::OsStr::new(&*String::from_utf8_lossy(path)));
        let Ok(stat) = path.symlink_metadata() else {
            continue;
        };
        let found = row.metadata;
        assert_eq!(u32::from(found.permissions), stat.mode() & 0o7777, "{path:?}");
        assert_eq!((found.uid, found.gid), (stat.uid(), stat.gid()));
        assert_eq!(found.mtime.sec, stat.mtime());
        assert_eq!(i64::from(found.mtime.nsec), stat.mtime_nsec());
        assert_eq!(u64::from(row.nlink), stat.nlink(), "{path:?}");
    }
    assert_eq!(rows[&b"socket"[..]].letter, 's');
    assert_eq!(rows[&b"soft"[..]].inode, rows[&b"soft2"[..]].inode);
    assert_eq!(rows[&b"nothing"[..]].metadata.mtime.sec, -1);
}

#[test]
fn the_number_of_threads_leaves_no_trace() {
    let (_dir, root) = sample(|root| {
        populate(root);
        for n in 0..300 {
            let dir = root.join(format!("many/{}/{}", n % 17, n));
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("f"), format!("{n}")).unwrap();
            fs::hard_link(dir.join("f"), root.join(format!("link-{n}"))).unwrap();
        }
    });
    let read = |workers| {
        let workers = NonZeroUsize::new(workers).unwrap();
        let options = Options::with(|options| options.workers = workers);
        rows(&directory(&root, &options).unwrap())
    };
    let one = read(1);
    for workers in [2, 3, 8] {
        assert_same(&one, &read(workers), "threads");
    }
}

#[test]
fn inodes_are_numbered_in_the_order_of_the_walk() {
    let (_dir, root) = sample(populate);
    let source = directory(&root, &Options::default()).unwrap();
    let mut next = 0;
    for visit in source.tree.walk() {
        assert!(visit.inode.index() <= next);
        next = next.max(visit.inode.index() + 1);
    }
    assert_eq!(next, source.tree.len());
}

#[test]
fn paths_longer_than_system_calls_take() {
    let (_dir, root) = sample(|root| {
        let mut at = openat(CWD, root, OFlags::DIRECTORY, Mode::empty()).unwrap();
        let name = "n".repeat(200);
        for _ in 0..50 {
            mkdirat(&at, &*name, Mode::RWXU).unwrap();
            at = openat(&at, &*name, OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let flags = OFlags::CREATE | OFlags::WRONLY;
        let file = openat(&at, "file", flags, Mode::RWXU).unwrap();
        rustix::fs::fsetxattr(&file, "user.deep", b"x", rustix::fs::XattrFlags::empty()).unwrap();
        File::from(file).write_all(b"deep").unwrap();
        rustix::fs::symlinkat("t", &at, "link").unwrap();
    });
    let rows = read_directory(&root);
    let (path, file) = rows.iter().find(|(path, _)| path.ends_with(b"/file")).unwrap();
    assert!(path.len() > 10_000);
    assert_eq!(file.data[&0], b"deep");
    assert_eq!(file.xattrs, [(b"user.deep".to_vec(), b"x".to_vec())]);
    assert!(rows.keys().any(|path| path.ends_with(b"/link")));
}

#[test]
fn excluded_directories_take_all_in_them_along() {
    let (_dir, root) = sample(|root| {
        for path in ["a/b/c/f", "a/b/g.o", "a/keep", "top", "sub/top", "cache/x/y", "x/cache/z"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), path).unwrap();
        }
        fs::hard_link(root.join("cache/x/y"), root.join("z")).unwrap();
    });
    let exclude = Excludes::new(["*.o", "/top", "cache", "a/*/c"]).unwrap();
    let options = Options::with(|options| options.exclude = exclude);
    let from_directory = rows(&directory(&root, &options).unwrap());
    let expected = ["", "a", "a/b", "a/keep", "sub", "sub/top", "x", "z"];
    assert_eq!(keys(&from_directory), expected);
    // The file's other name, which is excluded, does not count.
    assert_eq!(from_directory[&b"z"[..]].nlink, 1);
    let tar = system_tar(&root, &PAX, &["."]);
    assert_same(&from_directory, &rows(&read_stream(&tar, &options).unwrap()), "tar");
}

#[test]
fn hard_links_become_files_of_their_own_on_demand() {
    let (_dir, root) = sample(populate_plain);
    let options = Options::with(|options| options.dereference_hard_links = true);
    let separate = rows(&directory(&root, &options).unwrap());
    assert!(separate.values().all(|row| row.letter == 'd' || row.nlink == 1));
    assert_eq!(separate[&b"z-link"[..]].data[&0], b"a\n");
    let tar = system_tar(&root, &PAX, &["."]);
    assert_same(&separate, &rows(&read_stream(&tar, &options).unwrap()), "tar");
}

#[test]
fn attributes_are_left_out_on_demand() {
    let (_dir, root) = sample(populate);
    let options = Options::with(|options| options.xattrs = false);
    let bare = rows(&directory(&root, &options).unwrap());
    assert!(bare.values().all(|row| row.xattrs.is_empty()));
    let tar = system_tar(&root, &[&PAX[..], &["--sparse"]].concat(), &["."]);
    assert_same(&bare, &rows(&read_stream(&tar, &options).unwrap()), "tar");
}

#[test]
fn a_link_may_lead_to_the_root_but_links_in_it_are_not_followed() {
    let (dir, root) = sample(populate_plain);
    symlink(&root, dir.path().join("way")).unwrap();
    symlink("..", root.join("dir/up")).unwrap();
    let rows = read_directory(&dir.path().join("way"));
    assert_eq!(rows[&b"dir/up"[..]].letter, 'l');
    assert_same(&rows, &read_directory(&root), "link");
}

/// What a change is noticed by, and the change.
type Change = (&'static str, fn(&Path));

/// A tree of one file that is then changed, and what opening or checking the file says.
fn after(change: impl Fn(&Path)) -> ContentError {
    let (_dir, root) = sample(|root| fs::write(root.join("file"), "before").unwrap());
    let source = directory(&root, &Options::default()).unwrap();
    let file = source.tree.find(b"file").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    change(&root.join("file"));
    match source.contents.open(&source.tree, file) {
        Ok(_) => panic!("nothing noticed"),
        Err(error) => error,
    }
}

#[test]
fn a_file_that_changed_since_the_scan_is_noticed() {
    let changes: [Change; 8] = [
        ("was removed", |path| fs::remove_file(path).unwrap()),
        ("size 3, was 6", |path| fs::write(path, "now").unwrap()),
        ("mtime", |path| fs::write(path, "behind").unwrap()),
        ("ctime", |path| fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap()),
        ("inode", |path| {
            fs::write(path.with_extension("new"), "before").unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }),
        ("symbolic link", |path| {
            fs::remove_file(path).unwrap();
            symlink("/etc/passwd", path).unwrap();
        }),
        ("no longer a regular file", |path| {
            fs::remove_file(path).unwrap();
            rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        }),
        ("no longer a regular file", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (expected, change) in changes {
        let error = after(change);
        let ContentError::Changed { path, what } = &error else {
            panic!("{}", chain(&error));
        };
        assert!(path.ends_with("root/file") && what.contains(expected), "{expected}: {what}");
    }
}

#[test]
fn a_file_that_changes_while_it_is_open_is_noticed() {
    let (_dir, root) = sample(|root| fs::write(root.join("file"), "before").unwrap());
    let source = directory(&root, &Options::default()).unwrap();
    let file = source.tree.find(b"file").unwrap();
    let content = source.contents.open(&source.tree, file).unwrap();
    content.check_unchanged().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    File::options().write(true).open(root.join("file")).unwrap().set_len(4).unwrap();
    let short = content.read_at(&mut [0; 6], 0).unwrap_err();
    assert!(matches!(short, ContentError::Changed { .. }));
    let changed = content.check_unchanged().unwrap_err();
    assert!(matches!(changed, ContentError::Changed { .. }));
}

#[test]
fn what_is_no_regular_file_has_no_content() {
    let (_dir, root) = sample(populate_plain);
    let source = directory(&root, &Options::default()).unwrap();
    assert!(source.contents.open(&source.tree, InodeIndex::ROOT).is_err());
}

#[test]
fn names_given_by_others_to_the_tree_do_not_lead_out() {
    let (dir, root) = sample(|root| fs::create_dir(root.join("d")).unwrap());
    fs::write(dir.path().join("secret"), "x").unwrap();
    symlink("..", root.join("d/up")).unwrap();
    let mut source = directory(&root, &Options::default()).unwrap();
    let name = |name: &[u8]| Name::new(name).unwrap();
    let d = source.tree.find(b"d").unwrap();
    source.tree.remove(d, b"up");
    let up = source.tree.add(d, name(b"up"), Metadata::default(), Kind::directory()).unwrap();
    let kind = Kind::Regular { size: 1 };
    let file = source.tree.add(up, name(b"secret"), Metadata::default(), kind).unwrap();
    assert!(source.contents.open(&source.tree, file).is_err());
}

#[test]
fn an_unreadable_directory_is_named() {
    if is_root() {
        eprintln!("skipped: root may read every directory; tried on one that is gone");
    }
    let (_dir, root) = sample(populate_plain);
    fs::set_permissions(root.join("dir"), PermissionsExt::from_mode(0o000)).unwrap();
    let result = directory(&root, &Options::default());
    fs::set_permissions(root.join("dir"), PermissionsExt::from_mode(0o755)).unwrap();
    if !is_root() {
        let SourceError::Io { path, action, .. } = result.unwrap_err() else {
            panic!("another error");
        };
        assert_eq!((path, action), (root.join("dir"), "open"));
    }
    let error = directory(&root.join("missing"), &Options::default()).unwrap_err();
    assert!(chain(&error).contains("root/missing: cannot open"), "{}", chain(&error));
}

#[test]
fn what_is_found_is_told_by_content() {
    let dir = tempfile::tempdir().unwrap();
    let open = |bytes: &[u8]| {
        let path = dir.path().join("file");
        fs::write(&path, bytes).unwrap();
        lith_source::open(&path, &Options::default())
    };
    let mut image = vec![0; 4096];
    image[1024..1028].copy_from_slice(&0xe0f5_e1e2_u32.to_le_bytes());
    assert!(matches!(open(&image), Ok(Opened::Image(_))));
    assert!(matches!(open(&[0; 1024]), Ok(Opened::Source(_))));
    assert!(matches!(open(&Builder::default().dir("d").end()), Ok(Opened::Source(_))));
    // A tar whose first file is an image is a tar.
    let tar = Builder::default().file("i", &[&[0; 512], &image[1024..]].concat()).end();
    assert!(matches!(open(&tar), Ok(Opened::Source(_))));
    let broken = open(b"PK\x03\x04").unwrap_err();
    assert!(chain(&broken).contains("zip"), "{}", chain(&broken));
    for (bytes, expected) in [(&b""[..], "is empty"), (b"hello\n", "something else")] {
        let error = open(bytes).unwrap_err();
        assert!(matches!(error, SourceError::Unknown { .. }));
        assert!(chain(&error).contains(expected), "{}", chain(&error));
    }
    let opened = lith_source::open(dir.path(), &Options::default()).unwrap();
    assert!(matches!(opened, Opened::Source(source) if source.tree.len() == 2));
}

#[test]
fn attributes_without_a_place_are_noted() {
    let tar = Builder::default()
        .pax(b'x', &[("SCHILY.xattr.system.nfs4_acl", b"1"), ("SCHILY.xattr.user.a", b"2")])
        .file("b", b"")
        .pax(b'x', &[("SCHILY.xattr.system.nfs4_acl", b"1")])
        .file("a", b"")
        .end();
    let source = read_tar(&tar).unwrap();
    let [note] = &source.notes[..] else {
        panic!("{:?}", source.notes);
    };
    assert_eq!(note.kind, NoteKind::Xattr(b"system.nfs4_acl"[..].into()));
    assert_eq!((&*note.path, note.count), (&b"a"[..], 2));
    assert_eq!(rows(&source)[&b"b"[..]].xattrs.len(), 1);
}
