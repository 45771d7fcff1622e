//! Does each kind of member, and each contradiction between members, become what it should?

use crate::common::*;
use lith_source::{NoteKind, Options};
use lith_tree::{Metadata, Timestamp};

fn tree(builder: Builder) -> Rows {
    match read_tar(&builder.end()) {
        Ok(source) => rows(&source),
        Err(error) => panic!("{}", chain(&error)),
    }
}

fn error(builder: Builder) -> String {
    match read_tar(&builder.end()) {
        Ok(source) => panic!("taken: {:?}", rows(&source)),
        Err(error) => chain(&error),
    }
}

fn content(rows: &Rows, path: &str) -> Vec<u8> {
    rows[path.as_bytes()].data.values().flatten().copied().collect()
}

#[test]
fn a_directory_that_nothing_describes_does_not_depend_on_the_time() {
    let rows = tree(Builder::default().file("a/b/c", b"x"));
    let implied = Metadata { permissions: 0o755, ..Metadata::default() };
    for path in ["", "a", "a/b"] {
        assert_eq!(rows[path.as_bytes()].metadata, implied);
    }
    let described = tree(Builder::default().file("a/b/c", b"x").dir("./").dir("a/"));
    for path in ["", "a"] {
        assert_eq!(described[path.as_bytes()].metadata.permissions, 0o640);
    }
    assert_eq!(described[&b"a/b"[..]].metadata, implied);
}

#[test]
fn the_later_of_two_members_counts() {
    let rows = tree(
        Builder::default()
            .file("f", b"old")
            .link("l", "f")
            .file("f", b"new")
            .dir("d")
            .file("d/kept", b"kept")
            .dir("d/")
            .file("e", b"file")
            .dir("e")
            .dir("g")
            .member(b'2', "g", "f", b""),
    );
    assert_eq!(content(&rows, "f"), b"new");
    assert_eq!(content(&rows, "l"), b"old");
    assert_eq!(rows[&b"l"[..]].nlink, 1);
    assert_eq!(content(&rows, "d/kept"), b"kept");
    assert_eq!((rows[&b"e"[..]].letter, rows[&b"g"[..]].letter), ('d', 'l'));
    assert_eq!(rows[&b""[..]].nlink, 4);
}

#[test]
fn contradictions_are_refused_in_either_order() {
    let file_then_entry = Builder::default().file("a", b"").file("a/b", b"");
    assert!(error(file_then_entry).contains("a/b is refused: a is not a directory"));
    let entry_then_file = Builder::default().file("a/b", b"").file("a", b"");
    assert!(error(entry_then_file).contains("a is refused: it would replace a directory"));
    let link = Builder::default().member(b'2', "a", "d", b"").file("a/b", b"");
    assert!(error(link).contains("a is not a directory"));
}

#[test]
fn no_member_leaves_the_root() {
    for name in ["../x", "a/../../x", "..", "/../x", "a/.."] {
        let text = error(Builder::default().file(name, b""));
        assert!(text.contains("is refused: ") && text.contains("component \"..\""), "{text}");
        let text = error(Builder::default().file("a", b"").link("l", name));
        assert!(text.contains("l is refused: "), "{text}");
    }
    let rows =
        tree(Builder::default().file("/abs", b"1").file(".//./rel", b"2").link("/l", "/abs"));
    assert_eq!(rows.keys().collect::<Vec<_>>(), [&b""[..], b"abs", b"l", b"rel"]);
    assert!(error(Builder::default().file(".", b"")).contains("root must be a directory"));
    assert!(
        error(Builder::default().member(b'2', "/", "x", b"")).contains("root must be a directory")
    );
    assert!(
        error(
            Builder::default()
                .file(&"n".repeat(99), b"")
                .pax(b'x', &[("path", &[b'n'; 256])])
                .file("x", b"")
        )
        .contains("more than 255")
    );
    assert!(
        error(Builder::default().pax(b'x', &[("path", b"a\0b")]).file("x", b"")).contains("NUL")
    );
}

#[test]
fn hard_links_to_earlier_and_later_members() {
    let rows = tree(
        Builder::default()
            .link("1", "2")
            .link("2", "3")
            .link("x/y/z", "./1")
            .file("3", b"data")
            .link("4", "3")
            .link("3", "3")
            .link("4", "3"),
    );
    for name in ["1", "2", "3", "4", "x/y/z"] {
        assert_eq!(content(&rows, name), b"data");
        assert_eq!(rows[name.as_bytes()].nlink, 5);
    }
    // A later member takes the place of a link that still waits, and the other way round.
    let rows = tree(Builder::default().link("a", "b").file("a", b"own").file("b", b"b"));
    assert_eq!(content(&rows, "a"), b"own");
    let rows = tree(Builder::default().file("a", b"own").link("a", "b").file("b", b"b"));
    assert_eq!(content(&rows, "a"), b"b");
}

#[test]
fn hard_links_to_nothing_are_refused() {
    for (builder, expected) in [
        (Builder::default().link("a", "a"), "a is refused: it is a hard link to a, which is not"),
        (
            Builder::default().link("a", "gone"),
            "a is refused: it is a hard link to gone, which is not",
        ),
        (Builder::default().link("a", "b").link("b", "a"), "is a hard link to"),
        (Builder::default().link("a", "b").link("b", "c").link("c", "b"), "is a hard link to"),
        (
            Builder::default().dir("d").link("a", "d"),
            "a is refused: it is a hard link to d, a directory",
        ),
        (
            Builder::default().link("a", "d").dir("d"),
            "a is refused: it is a hard link to d, a directory",
        ),
        (Builder::default().link("a", "/"), "a directory"),
    ] {
        let text = error(builder);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn many_links_that_wait_take_no_long_time() {
    let mut builder = Builder::default();
    for n in 0..20_000 {
        builder = builder.link(&format!("{n:05}"), &format!("{:05}", n + 1));
    }
    let rows = tree(builder.file("20000", b"x"));
    assert_eq!(rows[&b"00000"[..]].nlink, 20_001);
}

#[test]
fn kinds_without_data_have_none_whatever_their_size_says() {
    let mut bytes = Vec::new();
    for (flag, name) in [(b'1', "l"), (b'2', "s"), (b'3', "c"), (b'5', "d"), (b'6', "p")] {
        bytes.extend_from_slice(&header(flag, name, "f", 4096));
    }
    let rows = tree(Builder { bytes }.file("f", b"data"));
    let letters: String = rows.values().map(|row| row.letter).collect();
    assert_eq!(letters, "dcdffpl");
}

#[test]
fn types_that_are_no_files_are_noted() {
    let tar = Builder::default()
        .member(b'V', "label", "", b"")
        .member(b'D', "dir", "", b"Yf\0\0")
        .member(b'Q', "odd", "", b"data")
        .member(b'7', "contiguous", "", b"data")
        .member(0, "old-dir/", "", b"")
        .end();
    let source = read_tar(&tar).unwrap();
    let kinds: Vec<_> = source.notes.iter().map(|note| note.kind.clone()).collect();
    assert_eq!(kinds, [NoteKind::MemberSkipped(b'V'), NoteKind::MemberAsFile(b'Q')]);
    let rows = rows(&source);
    assert_eq!(content(&rows, "odd"), b"data");
    assert_eq!(content(&rows, "contiguous"), b"data");
    assert_eq!(rows[&b"dir"[..]].letter, 'd');
    assert_eq!(rows[&b"old-dir"[..]].letter, 'd');
    assert!(error(Builder::default().member(b'M', "m", "", b"")).contains("another volume"));
}

#[test]
fn aufs_marks_become_overlay_marks_on_demand() {
    let build = || {
        Builder::default()
            .file("d/.wh.gone", b"")
            .file("d/.wh..wh..opq", b"")
            .file(".wh..wh.plnk", b"")
            .file("replaced/.wh.here", b"")
            .file("replaced/here", b"new")
            .dir("newdir")
            .file(".wh.newdir", b"")
            .link(".wh.linked", ".wh..wh.aufs")
            .member(b'3', "char", "", b"")
    };
    let options = Options::with(|options| options.aufs = true);
    let source = read_stream(&build().end(), &options).unwrap();
    assert_eq!(source.notes.len(), 1);
    assert_eq!(source.notes[0].kind, NoteKind::AufsBookkeeping);
    let marked = rows(&source);
    let opaque = [(b"trusted.overlay.opaque".to_vec(), b"y".to_vec())];
    let names = ["", "char", "d", "d/gone", "linked", "newdir", "replaced", "replaced/here"];
    assert_eq!(marked.keys().map(|key| str::from_utf8(key).unwrap()).collect::<Vec<_>>(), names);
    for name in ["d/gone", "linked", "char"] {
        let row = &marked[name.as_bytes()];
        assert_eq!((row.letter, &*row.detail), ('c', "Rdev { major: 0, minor: 0 }"));
    }
    for (name, expected) in [("d", &opaque[..]), ("newdir", &opaque), ("replaced", &[])] {
        assert_eq!(marked[name.as_bytes()].xattrs, expected, "{name}");
    }
    let plain = tree(Builder::default().file("d/.wh.gone", b"").file("d/.wh..wh..opq", b""));
    assert_eq!(plain[&b"d/.wh.gone"[..]].letter, 'f');
    assert!(plain[&b"d"[..]].xattrs.is_empty());
}

#[test]
fn extended_headers_say_what_headers_can_not() {
    let label = b"system_u:object_r:etc_t:s0";
    let rows = tree(
        Builder::default()
            .pax(b'g', &[("uid", b"4000000"), ("mtime", b"-5.25"), ("comment", b"x")])
            .pax(
                b'x',
                &[
                    ("path", b"caf\xe9\nnew"),
                    ("gid", b"4294967295"),
                    ("hdrcharset", b"BINARY"),
                    ("LIBARCHIVE.xattr.user.%C3%A9", b"AAEC"),
                    ("RHT.security.selinux", label),
                ],
            )
            .file("ignored", b"data")
            .pax(b'x', &[("uid", b""), ("mtime", b"7")])
            .file("second", b"")
            .pax(b'x', &[("linkpath", &[b'l'; 3000])])
            .member(b'2', "long", "", b"")
            .pax(b'x', &[("SCHILY.devmajor", b"4095"), ("SCHILY.devminor", b"1048575")])
            .member(b'4', "dev", "", b""),
    );
    let odd = &rows[&b"caf\xe9\nnew"[..]];
    assert_eq!((odd.metadata.uid, odd.metadata.gid), (4_000_000, u32::MAX));
    assert_eq!(odd.metadata.mtime, Timestamp { sec: -6, nsec: 750_000_000 });
    assert_eq!(
        odd.xattrs,
        [
            (b"security.selinux".to_vec(), [&label[..], b"\0"].concat()),
            ("user.é".as_bytes().to_vec(), vec![0, 1, 2]),
        ]
    );
    let second = rows[&b"second"[..]].metadata;
    assert_eq!((second.uid, second.mtime.sec), (11, 7));
    assert_eq!(rows[&b"long"[..]].detail.len(), 3000);
    assert_eq!(rows[&b"dev"[..]].detail, "Rdev { major: 4095, minor: 1048575 }");
}

#[test]
fn sizes_beyond_octal_in_both_forms() {
    let data = noise(700, 3);
    let mut binary = header(b'0', "binary", "", 0);
    patch(&mut binary, 124, &[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 188]);
    let rows = tree(
        Builder::default()
            .pax(b'x', &[("size", b"700")])
            .data(&header(b'0', "pax", "", 0))
            .data(&data)
            .data(&binary)
            .data(&data)
            .file("behind", b"x"),
    );
    assert_eq!(content(&rows, "pax"), data);
    assert_eq!(content(&rows, "binary"), data);
    assert_eq!(content(&rows, "behind"), b"x");
}

#[test]
fn acls_in_words_need_numbers() {
    let text = error(
        Builder::default()
            .pax(b'x', &[("SCHILY.acl.access", b"user::rw-\nuser:joe:r--\n")])
            .file("f", b""),
    );
    assert!(text.contains("f is refused: its ACL names joe"), "{text}");
    // The attribute itself makes the words needless.
    let rows = tree(
        Builder::default()
            .pax(
                b'x',
                &[
                    ("SCHILY.acl.access", b"user::rw-\nuser:joe:r--\n"),
                    ("SCHILY.xattr.system.posix_acl_access", &acl(7)),
                ],
            )
            .file("f", b""),
    );
    assert_eq!(rows[&b"f"[..]].xattrs, [(b"system.posix_acl_access".to_vec(), acl(7))]);
    let rows = tree(
        Builder::default()
            .pax(
                b'x',
                &[(
                    "SCHILY.acl.access",
                    b"user::rw-,user:joe:r--:7,group::r--,mask::r--,other::r--",
                )],
            )
            .file("f", b""),
    );
    assert_eq!(rows[&b"f"[..]].xattrs, [(b"system.posix_acl_access".to_vec(), acl(7))]);
}

#[test]
fn what_follows_the_end_is_noted_but_not_read() {
    let two = [Builder::default().file("a", b"1").end(), Builder::default().file("b", b"2").end()]
        .concat();
    for source in [read_tar(&two).unwrap(), read_stream(&two, &Options::default()).unwrap()] {
        assert_eq!(source.tree.len(), 2);
        assert_eq!(source.notes[0].kind, NoteKind::TrailingData);
    }
    let mut padded = Builder::default().file("a", b"1").end();
    padded.resize(300_000, 0);
    assert_eq!(read_tar(&padded).unwrap().notes, []);
    assert_eq!(read_stream(&padded, &Options::default()).unwrap().notes, []);
}
