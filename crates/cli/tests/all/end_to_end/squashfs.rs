//! Tests the verbs that read SquashFS images and tars as they read EROFS images.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lith_testkit::tier;

use super::{
    args,
    sample::{Sample, lith, printed},
};

/// Made by tests/golden/squashfs/make.sh.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/squashfs").join(name)
}

#[test]
fn a_squashfs_image_is_a_source() {
    let sample = Sample::new();
    let (squash, image) = (golden("zstd.sqfs"), sample.path("image"));
    let text = fs::read_to_string(golden("tree.txt")).unwrap();
    assert!(printed(args!["dump", squash]) == text);
    printed(args!["build", "-q", squash, image]);
    assert!(printed(args!["dump", image]) == text);
    assert_eq!(printed(args!["diff", squash, image]), "");
    // It is a layer like others.
    printed(args!["build", "-q", golden("lzo.sqfs"), sample.src(), image]);
    assert_eq!(printed(args!["cat", image, "hello", "shared-1"]), "hello, world\nshared-1");
}

#[test]
fn a_squashfs_image_is_listed_and_extracted() {
    let sample = Sample::new();
    let (squash, image, out) = (golden("xz.sqfs"), sample.path("image"), sample.path("out"));
    printed(args!["build", "-q", squash, image]);
    for options in ["-R", "-l", "-R0"] {
        let names = |file: &Path| printed(args!["ls", options, file, "many", "shared-*"]);
        assert_eq!(names(&squash), names(&image), "{options}");
    }
    assert_eq!(printed(args!["cat", squash, "shared-[12]"]), "shared-1shared-2");
    assert_eq!(printed(args!["cat", squash, "./many/../shared-3"]), "shared-3");
    let missing = lith(args!["cat", squash, "no/file"]);
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(said.ends_with("no/file does not exist\n"), "{said}");
    assert!(!printed(args!["ls", "--json", squash, "shared-1"]).contains("nid"));
    printed(args!["extract", "-q", "-C", out, squash, "many", "shared-1"]);
    assert_eq!(fs::read(out.join("shared-1")).unwrap(), b"shared-1");
    assert_eq!(fs::read_dir(out.join("many")).unwrap().count(), 150);
    if tier::is_root() {
        assert_eq!(printed(args!["diff", out.join("many"), out.join("many")]), "");
    }
    let tar = sample.path("tar");
    printed(args!["tar", "-q", "-o", tar, squash, "many"]);
    assert_eq!(printed(args!["ls", tar, "many/0000*"]), printed(args!["ls", image, "many/0000*"]));
}

#[test]
fn a_squashfs_image_starts_anywhere_in_a_file() {
    let sample = Sample::new();
    let app = sample.path("app");
    let image = fs::read(golden("gzip.sqfs")).unwrap();
    fs::write(&app, [&b"\x7fELF and more"[..], &image].concat()).unwrap();
    let text = fs::read_to_string(golden("tree.txt")).unwrap();
    assert!(printed(args!["dump", "--offset", "13", app]) == text);
    assert_eq!(printed(args!["cat", "--offset", "13", app, "shared-1"]), "shared-1");
    let diff = args!["diff", "--offset-a", "13", app, golden("lz4.sqfs")];
    assert_eq!(printed(diff), "");
}

#[test]
fn damage_is_told_or_salvaged() {
    let sample = Sample::new();
    let damaged = sample.path("damaged");
    let mut bytes = fs::read(golden("no-fragments.sqfs")).unwrap();
    // Some of the last block of few/text.
    bytes[5000..5060].fill(0xff);
    fs::write(&damaged, bytes).unwrap();
    let refused = lith(args!["dump", damaged]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("damaged/few/text: damaged") && said.contains("can't be decoded"),
        "{said}"
    );
    let saved = lith(args!["dump", "--keep-going", damaged]);
    assert_eq!(saved.status.code(), Some(1));
    let said = String::from_utf8(saved.stderr).unwrap();
    assert!(
        said.contains("bytes are lost") && said.contains("damaged; all else is complete"),
        "{said}"
    );
    let lines = fs::read_to_string(golden("tree.txt")).unwrap().lines().count();
    assert_eq!(String::from_utf8(saved.stdout).unwrap().lines().count(), lines);
}
