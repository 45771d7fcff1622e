//! Is the tree of a tar that of the directory that it was made of?

use std::{fs, path::Path, process::Command};

use crate::common::*;
use lith_source::Options;
use proptest::prelude::*;

/// A sample and its rows, with a time or so that a format can't hold taken out by `populate`.
fn check(populate: impl Fn(&Path), arguments: &[&str], expected: impl Fn(Rows) -> Rows) {
    let (_dir, root) = sample(populate);
    let expected = expected(read_directory(&root));
    let tar = system_tar(&root, arguments, &["."]);
    let in_place = read_tar(&tar).unwrap_or_else(|error| panic!("{}", chain(&error)));
    assert_same(&expected, &rows(&in_place), &format!("{arguments:?}"));
    assert_eq!(in_place.notes, []);
    for spool_memory in [0, 100_000, 32 << 20] {
        let options = Options::with(|options| {
            options.spool_memory = spool_memory;
            options.spool_dir = std::env::temp_dir();
        });
        let stream = read_stream(&tar, &options).unwrap();
        assert_same(&expected, &rows(&stream), &format!("{arguments:?}, spool {spool_memory}"));
    }
}

#[test]
fn pax_keeps_everything() {
    for sparse in [
        &["--sparse"][..],
        &["--sparse", "--sparse-version=0.0"],
        &["--sparse", "--sparse-version=0.1"],
    ] {
        check(populate, &[&PAX[..], sparse].concat(), |rows| rows);
    }
    check(populate, &[&PAX[..], &["--sparse", "--sort=name"]].concat(), |rows| rows);
    // Without the attribute that holds the same, only the ACL's text is there.
    check(
        populate,
        &[
            "--format=pax",
            "--sparse",
            "--acls",
            "--xattrs",
            "--xattrs-include=[ust][esr]*.*",
            "--xattrs-exclude=system.*",
        ],
        |rows| rows,
    );
}

#[test]
fn gnu_keeps_whole_seconds() {
    check(populate, &["--format=gnu", "--sparse"], without_pax);
    check(populate_plain, &["--format=oldgnu"], without_pax);
}

#[test]
fn ustar_and_v7_keep_plain_trees() {
    check(populate_plain, &["--format=ustar"], without_pax);
    check(populate_plain, &["--format=v7"], without_pax);
    check(populate_plain, &["--format=pax", "--pax-option=delete=mtime,delete=?time"], without_pax);
}

#[test]
fn names_without_a_dot_and_absolute_ones_are_the_same() {
    let (_dir, root) = sample(populate_plain);
    let mut expected = read_directory(&root);
    let plain =
        system_tar(&root, &PAX, &["z-link", "soft", "nothing", "empty.link", "empty", "dir"]);
    // Nothing describes the root.
    expected.get_mut(&b""[..]).unwrap().metadata =
        lith_tree::Metadata { permissions: 0o755, ..Default::default() };
    assert_same(&expected, &rows(&read_tar(&plain).unwrap()), "names");
    let absolute = Command::new("tar")
        .args(PAX)
        .args(["--numeric-owner", "-P", "-cf", "-", "--transform", "flags=rh;s,^[.]/,//,"])
        .arg("-C")
        .arg(&root)
        .args(["./z-link", "./soft", "./nothing", "./empty.link", "./empty", "./dir"])
        .output()
        .unwrap();
    assert_same(&expected, &rows(&read_tar(&absolute.stdout).unwrap()), "absolute");
}

#[test]
fn compression_is_told_by_content() {
    let (dir, root) = sample(populate_plain);
    let expected = read_directory(&root);
    let tar = system_tar(&root, &PAX, &["."]);
    let (first, second) = tar.split_at(tar.len() / 2);
    for (program, arguments) in [
        ("gzip", &["-c"][..]),
        ("bzip2", &["-c"]),
        ("xz", &["-c", "-0"]),
        ("xz", &["-c", "--check=sha256", "--block-size=10000"]),
        ("zstd", &["-c", "-q"]),
    ] {
        let whole = pipe(program, arguments, &tar);
        let parts = [pipe(program, arguments, first), pipe(program, arguments, second)].concat();
        for bytes in [whole, parts] {
            let path = dir.path().join("compressed");
            fs::write(&path, &bytes).unwrap();
            let opened = lith_source::open(&path, &Options::default()).unwrap();
            let lith_source::Opened::Source(source) = opened else {
                panic!("no source");
            };
            assert_same(&expected, &rows(&source), program);
        }
    }
}

#[test]
fn pipes_and_open_files_are_read_from_where_they_are() {
    let (_dir, root) = sample(populate_plain);
    let expected = read_directory(&root);
    let tar = system_tar(&root, &PAX, &["."]);
    for bytes in [tar.clone(), pipe("gzip", &["-c"], &tar)] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let copy = bytes.clone();
        // Written to the end, though the tar's end marker comes before.
        let thread = std::thread::spawn(move || {
            std::io::Write::write_all(&mut writer, &copy).unwrap();
        });
        let file = std::os::fd::OwnedFd::from(reader).into();
        let source = lith_source::tar(file, Path::new("-"), &Options::default()).unwrap();
        thread.join().unwrap();
        assert_same(&expected, &rows(&source), "pipe");
        let mut file = file_of(&[b"some bytes before", &bytes[..]].concat());
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(17)).unwrap();
        let source = lith_source::tar(file, Path::new("-"), &Options::default()).unwrap();
        assert_same(&expected, &rows(&source), "file");
    }
}

#[test]
fn python_writes_the_same() {
    let (dir, root) = sample(populate_plain);
    let expected = read_directory(&root);
    for format in ["USTAR_FORMAT", "GNU_FORMAT", "PAX_FORMAT"] {
        let path = dir.path().join("python.tar");
        let script = format!(
            "import sys,tarfile\nwith tarfile.open(sys.argv[2],'w',format=tarfile.{format}) as t: t.add(sys.argv[1],'.')"
        );
        let status = Command::new("python3").arg("-c").arg(script).arg(&root).arg(&path).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no python3");
            return;
        }
        let source = read_tar(&fs::read(&path).unwrap()).unwrap();
        assert_same(&expected, &rows(&source), format);
    }
}

/// Cuts a tar into its members, each with the headers in front, and what follows.
fn members(tar: &[u8]) -> Vec<Vec<u8>> {
    let mut members = vec![Vec::new()];
    let mut rest = tar;
    while rest[0] != 0 {
        let header = tar::Header::from_byte_slice(&rest[..512]).clone();
        let size = header.size().unwrap() as usize;
        let data = if header.entry_type().is_hard_link() { 0 } else { size.next_multiple_of(512) };
        let (member, behind) = rest.split_at(512 + data);
        members.last_mut().unwrap().extend_from_slice(member);
        if !matches!(header.entry_type().as_byte(), b'x' | b'L' | b'K') {
            members.push(Vec::new());
        }
        rest = behind;
    }
    members.pop();
    members
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_order_of_members_does_not_matter(seed in any::<u64>()) {
        let (_dir, root) = sample(|root| {
            populate_plain(root);
            fs::write(root.join("dir/noted"), "x").unwrap();
            set_xattr(&root.join("dir/noted"), "user.note", b"1");
            set_xattr(&root.join("dir/sub"), "user.note", b"2");
        });
        let expected = read_directory(&root);
        let tar = system_tar(&root, &PAX, &["."]);
        let mut members = members(&tar);
        let order = noise(members.len() * 2, seed);
        let mut keyed: Vec<_> = members.drain(..).zip(order.chunks(2)).collect();
        keyed.sort_by_key(|(_, key)| key.to_vec());
        let mut shuffled: Vec<u8> = keyed.into_iter().flat_map(|(member, _)| member).collect();
        shuffled.extend_from_slice(&[0; 1024]);
        assert_same(&expected, &rows(&read_tar(&shuffled).unwrap()), "shuffled");
    }
}
