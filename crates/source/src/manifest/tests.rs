//! Tests lists in their three forms.

use std::{fs, os::unix::fs::symlink};

use lith_tree::{Kind, Timestamp, dump};
use tempfile::TempDir;

use super::*;
use crate::{Excludes, directory};

fn text(source: &Source) -> String {
    let mut text = Vec::new();
    dump(source.filesystem(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// A directory with a list, and the source of both.
fn read(folder: &TempDir, list: &str, options: &Options) -> Result<Source, String> {
    let path = folder.path().join("list");
    fs::write(&path, list).unwrap();
    manifest(&path, &folder.path().join("files"), options).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let own = error.to_string().replace(&*path.to_string_lossy(), "list");
        format!("{own}: {}", cause.unwrap_or_default())
    })
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    fs::create_dir_all(files.join("a/b")).unwrap();
    fs::write(files.join("a/b/x y"), "content").unwrap();
    fs::write(files.join("a.b"), "other").unwrap();
    fs::write(files.join("hard"), "linked").unwrap();
    fs::hard_link(files.join("hard"), files.join("a/again")).unwrap();
    symlink("a\nb", files.join("link")).unwrap();
    folder
}

#[test]
fn a_dump_is_read_back_as_it_was() {
    let folder = folder();
    let mut source = directory(&folder.path().join("files"), &Options::default()).unwrap();
    let link = source.tree.find(b"link").unwrap();
    source.tree.add_xattr(link, b"user.a,b", b"\0\xff");
    let dumped = text(&source);
    let list = dumped.replace("/a.b f 0644 0 0", "/a.b f 4751 7 8")
        + "/dev/null c 0666 0 0 -5 7 1 0 1:3 - - - -\n";
    let found = read(&folder, &list, &Options::default()).unwrap();
    let lines = text(&found);
    for line in list.lines() {
        // Directories count their subdirectories anew.
        assert!(line.starts_with("/ ") || lines.contains(line), "{line} is not in\n{lines}");
    }
    assert!(lines.contains("/dev d 0755 0 0 0 0 2 "), "{lines}");
    assert_eq!(lines.lines().count(), list.lines().count() + 1);
}

#[test]
fn a_composefs_list_has_content_of_its_own() {
    let folder = folder();
    let list = "/ 4096 40555 2 0 0 0 1700000000.5 - - -\n\
        /in\\x20line 5 100640 2 1 2 0 5.0 - a\\nb\\\\c - user.k=v\\x01\n\
        /hard 0 @120777 2 0 0 0 0.0 /in\\x20line - -\n\
        /away 5 100644 1 0 0 0 0.0 a.b - abcdef\n\
        /sda 0 60660 1 0 6 2049 0.0 - - -\n\
        /to 3 120777 1 0 0 0 0.0 ../x - -\n\
        /empty 0 100644 1 0 0 0 0.0 - - -\n";
    let found = read(&folder, list, &Options::default()).unwrap();
    let tree = &found.tree;
    let get = |path: &str| tree.get(tree.find(path.as_bytes()).unwrap());
    assert_eq!(get("").metadata.mtime, Timestamp { sec: 1_700_000_000, nsec: 5 });
    assert_eq!(get("in line").nlink(), 2);
    // The first name is that of the file itself, although a link precedes it.
    assert_eq!(tree.path(tree.find(b"hard").unwrap()), b"in line");
    let Kind::BlockDevice(rdev) = get("sda").kind else { panic!("a device") };
    assert_eq!((rdev.major, rdev.minor), (8, 1));
    let mut bytes = [0; 5];
    for (path, expected) in [("hard", b"a\nb\\c"), ("away", b"other")] {
        let inode = tree.find(path.as_bytes()).unwrap();
        found.contents.open(tree, inode).unwrap().read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, expected);
    }
    assert!(text(&found).contains("user.k=7601"));
}

#[test]
fn an_mtree_has_defaults_and_a_current_directory() {
    let folder = folder();
    let list = "#mtree\n/set type=file uid=3 mode=0600\n. type=dir mode=0755\n    a type=dir mode=0750 \\\n\
        \x20       time=12.34\n        b type=dir\n            x\\040y size=7\n        ..\n        ..\n\
        /unset uid\n    a.b uname=root\n    con type=char device=linux,5,0x1\n..\n\
        ./deep/down mode=0444 contents=hard\n";
    let found = read(&folder, list, &Options::default()).unwrap();
    let tree = &found.tree;
    let get = |path: &str| tree.get(tree.find(path.as_bytes()).unwrap()).clone();
    let facts = |path: &str| {
        let metadata = get(path).metadata;
        (metadata.permissions, metadata.uid, metadata.mtime.sec)
    };
    assert_eq!(facts("a"), (0o750, 3, 12));
    assert_eq!(facts("a/b/x y"), (0o600, 3, 0));
    assert_eq!(facts("a.b"), (0o600, 0, 0));
    assert_eq!(facts("deep/down"), (0o444, 0, 0));
    assert_eq!(get("deep/down").kind.letter(), 'f');
    let Kind::CharDevice(rdev) = get("con").kind else { panic!("a device") };
    assert_eq!((rdev.major, rdev.minor), (5, 1));
    let options = Options::with(|options| options.exclude = Excludes::new(["b"]).unwrap());
    let found = read(&folder, list, &options).unwrap();
    assert_eq!((found.tree.find(b"a/b"), found.tree.walk().count()), (None, 6));
}

#[test]
fn wrong_lines_are_named() {
    let folder = folder();
    for (list, expected) in [
        ("", "list:1: there is no file in the list"),
        ("what is this\n", "list:1: expected the form"),
        ("#mtree\na type=disk\n", "list:2: disk is no file type"),
        ("#mtree\na.b size=4\n", "list:2: the file has 5 bytes, not 4"),
        ("#mtree\na contents=a\n", "list:2: the content is no regular file"),
        ("#mtree\nx/../y type=dir\n", "list:2: the name .. is reserved"),
        ("#mtree\na.b uname=joe\n", "list:2: joe is no owner's number"),
        ("#mtree\nd type=fifo\nd type=fifo\n", "list:3: the name d is there twice"),
        ("#mtree\nd type=fifo\nd/e type=fifo\n", "list:3: its parent is not a directory"),
        ("/ d 0755 0 0 0 0 2 - - - - -\n", "list:1: fields are missing"),
        ("/ d 0788 0 0 0 0 2 - - - - - -\n", "list:1: 0788 is no mode"),
        ("/ d 0755 0 0 0 1000000000 2 - - - - - -\n", "list:1: 1000000000 is no time"),
        (
            "/a 0 @100644 1 0 0 0 0.0 /b - -\n/b 0 @100644 1 0 0 0 0.0 /a - -\n",
            "list:1: the hard link",
        ),
        ("/a 0 @100644 1 0 0 0 0.0 /a - -\n", "list:1: the hard link"),
        ("/a 2 100644 1 0 0 0 0.0 - a\\x2 -\n", "list:1: a\\\\x2 is no name or value"),
    ] {
        let error = read(&folder, list, &Options::default()).map(|_| ()).unwrap_err();
        assert!(error.starts_with(expected), "{list}: {error}");
    }
    let error = read(&folder, "#mtree\ngone\n", &Options::default()).map(|_| ()).unwrap_err();
    assert!(error.contains("files/gone: cannot open: No such file"), "{error}");
}
