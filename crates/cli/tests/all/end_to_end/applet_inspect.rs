//! Tests the applets fsck.erofs and dump.erofs.

use std::{
    ffi::OsString,
    fs,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Output,
};

use super::{
    args,
    sample::{Sample, command, complaint, compressible, is_root, lith, printed},
};

/// Runs the program under another name.
fn applet(name: &str, arguments: impl IntoIterator<Item = OsString>) -> Output {
    command().arg0(name).args(arguments).output().unwrap()
}

fn fsck(arguments: impl IntoIterator<Item = OsString>) -> Output {
    applet("/sbin/fsck.erofs", arguments)
}

/// The output of dump.erofs, which must succeed.
fn dump(arguments: impl IntoIterator<Item = OsString>) -> String {
    let output = applet("dump.erofs", arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

/// An option joined to a path.
fn glued(option: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(path);
    argument
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

/// The number in the line that starts with `label`.
fn number(text: &str, label: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(label)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn dump_shows_the_superblock_first() {
    let (_sample, image) = Sample::built();
    let text = dump(args![image]);
    assert!(text.starts_with("Filesystem magic number:                      0xE0F5E1E2\n"));
    assert_eq!(number(&text, "Filesystem blocksize:"), 4096);
    assert_eq!(number(&text, "Filesystem inode count:"), 11);
    let blocks = fs::metadata(&image).unwrap().len() / 4096;
    assert_eq!(number(&text, "Filesystem blocks:"), blocks);
    assert!(text.lines().last().unwrap().starts_with("Required upstream Linux kernel version:"));
    assert_eq!(dump(args!["-s", image]), text);
    assert_eq!(printed(args!["dump.erofs", image, "-s"]), text);
    let udev = dump(args!["--blkid-udev", image]);
    let keys: Vec<_> = udev.lines().map(|line| line.split('=').next().unwrap()).collect();
    assert_eq!(keys, ["ID_FS_UUID", "ID_FS_UUID_ENC", "ID_FS_TYPE", "ID_FS_USAGE"]);
}

#[test]
fn dump_counts_names() {
    let (_sample, image) = Sample::built();
    let text = dump(args!["-S", image]);
    // The root too, and the two names of one file.
    assert_eq!(number(&text, "Filesystem total file count:"), 12);
    assert_eq!(number(&text, "Filesystem regular file count:"), 6);
    assert_eq!(number(&text, "Filesystem symlink file count:"), 2);
    assert_eq!(number(&text, "Filesystem total original file size:"), 350_029);
    assert!(text.contains("\nOn-disk file size distribution:\n"), "{text}");
}

#[test]
fn dump_shows_files_and_directories() {
    let (sample, image) = Sample::built();
    let text = dump(args!["--path=/sub/large", "-e", image]);
    assert!(text.starts_with("Path : /sub/large\nSize: 300000  On-disk size: "), "{text}");
    let found = text.lines().last().unwrap();
    assert!(found.starts_with("/sub/large: ") && found.ends_with(" extents found"), "{found}");
    let nid = text.lines().find_map(|line| line.strip_prefix("NID: ")).unwrap();
    let nid = nid.split_whitespace().next().unwrap();
    assert_eq!(dump(args!["--nid", nid, "-e", image]), text);
    let list = dump(args!["--ls", "--path=/sub", image]);
    let names: Vec<_> = list.lines().filter_map(|line| line.split("    ").nth(1)).collect();
    assert!(list.contains("\n       NID TYPE  FILENAME\n") && !names.is_empty(), "{list}");
    for name in [".", "..", "deep", "hard", "large", "noise"] {
        assert!(list.lines().any(|line| line.ends_with(&format!("  {name}"))), "{name}: {list}");
    }
    let noise = applet("dump.erofs", args!["--cat", "--path=sub/noise", image]).stdout;
    assert!(noise == fs::read(sample.src().join("sub/noise")).unwrap());
    assert_eq!(dump(args!["--cat", "--path=/link", image]), "sub/large");
}

#[test]
fn dump_names_devices_that_are_missing() {
    let image = golden("15-blobdev.erofs");
    let text = dump(args!["-e", "--path=/text", image]);
    assert!(text.contains("24576..     28672 |    4096  # device 1\n"), "{text}");
    let given = glued("--device=", &golden("15-blobdev.blob"));
    assert_eq!(dump(args![given, "-e", "--path=/text", image]), text);
}

#[test]
fn dump_refuses_contradicting_arguments() {
    let (sample, image) = Sample::built();
    for arguments in [
        args!["-e", image].to_vec(),
        args!["--ls", image].to_vec(),
        args!["--cat", image].to_vec(),
        args!["--cat", "-s", "--path=/hello", image].to_vec(),
        args!["--path=/none", image].to_vec(),
        args!["--cat", "--path=/none", image].to_vec(),
        args!["--nid=x", image].to_vec(),
        args!["--nid", image].to_vec(),
        args!["--frobnicate", image].to_vec(),
        args![sample.path("missing")].to_vec(),
        args![image, image].to_vec(),
    ] {
        let output = applet("dump.erofs", arguments.clone());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(complaint(&output).starts_with("dump.erofs: "), "{arguments:?}");
    }
    let listed = applet("dump.erofs", args!["--ls", "--path=/hello", image]);
    assert_eq!(listed.status.code(), Some(1));
}

#[test]
fn fsck_prints_errors_and_otherwise_nothing_by_default() {
    let (sample, image) = Sample::built();
    for arguments in [
        args![image].to_vec(),
        args!["-a", "-A", "-y", image].to_vec(),
        args!["--extract", image].to_vec(),
        args!["--", image].to_vec(),
        args!["--path=/sub", image].to_vec(),
    ] {
        let output = fsck(arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
        assert!(output.stderr.is_empty());
    }
    let output = fsck(args!["-pd3", "--extract", image]);
    let output = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines[0], "<I> erofs: No errors found");
    assert!(lines[1].starts_with("<I> erofs: Compression ratio: ") && lines[1].ends_with("(%)"));
    let map = super::sample::json(args!["map", "--json", image, "/sub/large"]);
    let extent = &map["extents"][0];
    let end = extent["physical"].as_u64().unwrap() + extent["stored"].as_u64().unwrap();
    let end = usize::try_from(end).unwrap();
    let mut bytes = fs::read(&image).unwrap();
    bytes[end - 4096..end].fill(0xff);
    let damaged = sample.path("damaged");
    fs::write(&damaged, bytes).unwrap();
    assert_eq!(fsck(args![damaged]).status.code(), Some(0));
    assert_eq!(fsck(args!["--extract", "--path=/sub/noise", damaged]).status.code(), Some(0));
    for arguments in
        [args!["--extract", damaged], args![glued("--extract=", &sample.path("out")), damaged]]
    {
        let found = fsck(arguments);
        assert_eq!(found.status.code(), Some(1));
        let found = String::from_utf8(found.stderr).unwrap();
        assert!(
            found.contains("sub/large")
                && found.lines().last().unwrap().starts_with("<E> erofs: F"),
            "{found}"
        );
    }
}

#[test]
fn fsck_can_ignore_the_checksum_and_start_at_an_offset() {
    let (sample, image) = Sample::built();
    let mut bytes = fs::read(&image).unwrap();
    bytes[1024 + 4] ^= 1;
    let (wrong, shifted) = (sample.path("wrong"), sample.path("shifted"));
    fs::write(&wrong, &bytes).unwrap();
    assert_eq!(fsck(args![wrong]).status.code(), Some(1));
    let out = glued("--extract=", &sample.path("out"));
    assert_eq!(fsck(args![out, wrong]).status.code(), Some(1));
    assert_eq!(fsck(args!["--no-sbcrc", out, wrong]).status.code(), Some(0));
    assert_eq!(dump(args![wrong]), dump(args![image]));
    fs::write(&shifted, [vec![7; 4096], fs::read(&image).unwrap()].concat()).unwrap();
    assert_eq!(fsck(args!["--offset=0x1000", "--extract", shifted]).status.code(), Some(0));
    assert_eq!(dump(args!["--offset", "4096", shifted]), dump(args![image]));
}

#[test]
fn fsck_extracts_and_replaces_only_on_request() {
    let (sample, image) = Sample::built();
    let out = sample.path("out");
    let to_out = glued("--extract=", &out);
    assert_eq!(fsck(args![to_out, image]).status.code(), Some(0));
    assert_eq!(lith(args!["diff", sample.src(), out]).status.code(), Some(0));
    fs::write(out.join("more"), "").unwrap();
    let again = fsck(args![to_out, image]);
    assert_eq!(again.status.code(), Some(1));
    let output = String::from_utf8(again.stderr).unwrap();
    assert!(output.contains("File exists"), "{output}");
    assert!(output.ends_with("<E> erofs: Failed to extract filesystem\n"), "{output}");
    assert_eq!(fsck(args!["--overwrite", to_out, image]).status.code(), Some(0));
    assert!(out.join("more").exists());
    let part = sample.path("part");
    assert_eq!(
        fsck(args![glued("--extract=", &part), "--path=/sub", image]).status.code(),
        Some(0)
    );
    assert_eq!(lith(args!["diff", sample.src().join("sub"), part]).status.code(), Some(0));
    let file = sample.path("file");
    let one = args![glued("--extract=", &file), "--path=/sub/large", image];
    assert_eq!(fsck(one.clone()).status.code(), Some(0));
    assert!(fs::read(&file).unwrap() == compressible(300_000));
    assert_eq!(fsck(one).status.code(), Some(1));
}

#[test]
fn fsck_keeps_the_requested_attributes() {
    let sample = Sample::new();
    let has_xattrs = sample.set_xattr("hello", "user.note", b"value");
    fs::set_permissions(
        sample.src().join("hello"),
        std::os::unix::fs::PermissionsExt::from_mode(0o666),
    )
    .unwrap();
    let image = sample.path("image.erofs");
    printed(args!["build", "-q", sample.src(), image]);
    let extracted = |name: &str, arguments: &[&str]| {
        let place = sample.path(name);
        let arguments = arguments.iter().map(OsString::from);
        let output = fsck(arguments.chain(args![glued("--extract=", &place), image]));
        assert_eq!(output.status.code(), Some(0), "{name}");
        place.join("hello")
    };
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    fs::write(sample.path("made"), "").unwrap();
    let umask = 0o666 & !mode(&sample.path("made"));
    assert_eq!(mode(&extracted("exact", &["--no-preserve", "--preserve-perms"])), 0o666);
    assert_eq!(mode(&extracted("masked", &["--preserve", "--no-preserve-perms"])), 0o666 & !umask);
    let default = if is_root("the default is to keep permissions") { 0 } else { umask };
    let plain = extracted("plain", &[]);
    assert_eq!(mode(&plain), 0o666 & !default);
    let note = |path: &Path| rustix::fs::getxattr(path, "user.note", &mut [0_u8; 16][..]).ok();
    assert_eq!(note(&plain), None);
    if has_xattrs {
        assert_eq!(note(&extracted("noted", &["--xattrs"])), Some(5));
    }
}

#[test]
fn fsck_refuses_contradicting_arguments() {
    let (_sample, image) = Sample::built();
    for arguments in [
        args!["--force", image],
        args!["--overwrite", image],
        args!["--preserve", image],
        args!["--no-preserve-owner", image],
        args!["--extract=", image],
        args!["--extract=/", image],
        args!["-d10", image],
        args!["-q", image],
        args!["--path=/none", image],
        args![image, image],
    ] {
        let output = fsck(arguments.clone());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}");
        assert!(complaint(&output).starts_with("fsck.erofs: "), "{arguments:?}");
    }
}

#[test]
fn fsck_compares_files_with_their_digests() {
    let (sample, without) = Sample::built();
    let image = golden("39-inode-digest.erofs");
    let output = fsck(args!["--xattr-inode-digest", "-d3", image]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.ends_with("<I> erofs: No errors found\n"), "{text}");
    let refused = fsck(args!["--xattr-inode-digest", without]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).contains("no extended attributes with digests"));
    let mut bytes = fs::read(&image).unwrap();
    let digest = bytes.windows(7).position(|window| window == b"sha256:").unwrap();
    bytes[digest + 10] ^= 1;
    // A checksum covers the first block.
    bytes[1024 + 8] &= !1;
    let wrong = sample.path("wrong");
    fs::write(&wrong, bytes).unwrap();
    let found = fsck(args!["--xattr-inode-digest", wrong]);
    assert_eq!(found.status.code(), Some(1));
    assert!(String::from_utf8(found.stderr).unwrap().contains("does not match its digest"));
    assert_eq!(fsck(args!["--extract", wrong]).status.code(), Some(0));
}

#[test]
fn fsck_needs_further_devices_for_data_only() {
    let (image, device) = (golden("15-blobdev.erofs"), golden("15-blobdev.blob"));
    assert_eq!(fsck(args![image]).status.code(), Some(0));
    assert_eq!(fsck(args!["--extract", image]).status.code(), Some(1));
    assert_eq!(fsck(args!["--extract", "--device", device, image]).status.code(), Some(0));
}
