//! Tests `lith build --composefs`, and reading such images with their objects.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use lith_testkit::{
    nasty::{self, Nasty},
    oracle::{kernel, tools::is_in_path},
    planted::Planted,
    tier,
};
use rustix::{
    fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr},
    mount::{MountFlags, UnmountFlags, mount, unmount},
};

use super::{
    args,
    sample::{Sample, complaint, lith, printed},
};

/// A sample with what overlayfs takes as its own, as far as this user can make it.
fn sample() -> Sample {
    let sample = Sample::new();
    let src = sample.src();
    // It would become a file of its own.
    fs::remove_file(src.join("sub/hard")).unwrap();
    for size in [1, 64, 65] {
        fs::write(src.join(format!("of{size}")), vec![b'a'; size]).unwrap();
    }
    fs::copy(src.join("sub/large"), src.join("twin")).unwrap();
    let whiteout = mknodat(
        CWD,
        src.join("sub/gone"),
        FileType::CharacterDevice,
        Mode::from_raw_mode(0o600),
        0,
    );
    let _ = whiteout.and_then(|()| {
        setxattr(src.join("sub/deep"), "trusted.overlay.opaque", b"y", XattrFlags::empty())
    });
    let _ = setxattr(src.join("sub/large"), "user.note", b"yes", XattrFlags::empty());
    sample
}

/// The paths and contents of all objects, sorted.
fn objects(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let at = entry.unwrap().path();
        for object in fs::read_dir(&at).unwrap() {
            let path = object.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            found.push((path.strip_prefix(folder).unwrap().to_owned(), bytes));
        }
    }
    found.sort();
    found
}

fn built() -> (Sample, PathBuf, PathBuf) {
    let sample = sample();
    let (image, store) = (sample.path("image.erofs"), sample.path("objects"));
    printed(args!["build", "-q", "--composefs", store, sample.src(), image]);
    (sample, image, store)
}

#[test]
fn files_are_read_from_objects_and_verified() {
    let (sample, image, store) = built();
    assert_eq!(objects(&store).len(), 3, "equal files are one object");
    let out = sample.path("out");
    printed(args!["extract", "-q", "--objects", store, "-C", out, image]);
    assert_eq!(printed(args!["diff", sample.src(), out]), "");
    let tar = sample.path("out.tar");
    printed(args!["tar", "-q", "--objects", store, "-o", tar, image]);
    assert_eq!(printed(args!["diff", sample.src(), tar]), "");
    let cat = lith(args!["cat", "--composefs", store, image, "/sub/large"]);
    assert_eq!(cat.stdout, fs::read(sample.src().join("sub/large")).unwrap());
    printed(args!["check", "-q", image]);
    // A changed object is no content.
    let (victim, mut bytes) =
        objects(&store).into_iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(store.join(&victim), &bytes).unwrap();
    let cat = lith(args!["cat", "--objects", store, image, "/sub/large"]);
    assert_eq!((cat.status.code(), cat.stdout.len()), (Some(1), 0));
    assert!(complaint(&cat).contains("has another digest"), "{}", complaint(&cat));
    fs::remove_file(store.join(&victim)).unwrap();
    assert_eq!(lith(args!["cat", "--objects", store, image, "/sub/large"]).status.code(), Some(1));
    // Made again, with the objects that are there.
    printed(args!["build", "-q", "--composefs", store, sample.src(), image]);
    let cat = lith(args!["cat", "--objects", store, image, "/sub/large"]);
    assert_eq!(cat.stdout, fs::read(sample.src().join("sub/large")).unwrap());
}

#[test]
fn overlayfs_shows_the_source() {
    let (sample, image, store) = built();
    let Some(mounted) = kernel::mount(&image) else { return };
    let at = sample.path("merged");
    fs::create_dir(&at).unwrap();
    let data = format!(
        "metacopy=on,redirect_dir=on,lowerdir={}::{}",
        mounted.path().display(),
        store.display()
    );
    let data = std::ffi::CString::new(data).unwrap();
    if let Err(error) = mount("overlay", &at, "overlay", MountFlags::RDONLY, data.as_c_str()) {
        tier::skip("composefs by overlayfs", error);
        return;
    }
    let large = fs::read(at.join("sub/large"));
    let different = lith(args!["diff", "--ignore", "xattrs", sample.src(), at]);
    unmount(&at, UnmountFlags::DETACH).unwrap();
    assert_eq!(large.unwrap(), fs::read(sample.src().join("sub/large")).unwrap());
    let text = String::from_utf8([different.stdout, different.stderr].concat()).unwrap();
    // A whiteout hides its name, which an overlay of one layer does not show.
    let text: Vec<_> = text.lines().filter(|line| !line.contains("sub/gone")).collect();
    assert_eq!(text, [""; 0]);
    tier::ran("composefs by overlayfs");
}

/// Runs mkcomposefs.
fn mkcomposefs<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) {
    let output = Command::new("mkcomposefs").args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Says that mkcomposefs is not there, if so.
fn is_missing() -> bool {
    let is_missing = !is_in_path("mkcomposefs");
    if is_missing {
        tier::skip("composefs", "no mkcomposefs");
    }
    is_missing
}

/// The first byte in which two files differ.
fn difference(left: &Path, right: &Path) -> Option<usize> {
    let (left, right) = (fs::read(left).unwrap(), fs::read(right).unwrap());
    let common = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    (left != right).then_some(common)
}

#[test]
fn images_and_objects_are_those_of_mkcomposefs() {
    if is_missing() {
        return;
    }
    let sample = sample();
    let nasty = Planted::new(|folder| {
        nasty::plant(folder, Nasty::ForTar);
        // mkcomposefs refuses more than 32 KiB of attributes.
        let _ = fs::remove_file(folder.join("xattrs/long"));
    });
    let shared = Planted::new(nasty::plant_shared_xattrs);
    let (left, right) = (sample.path("left"), sample.path("right"));
    for tree in [sample.src(), nasty.tree.clone(), shared.tree.clone()] {
        for (number, versions) in [
            (None, &["--min-version=0", "--max-version=1"]),
            (Some("0"), &["--min-version=0", "--max-version=0"]),
            (Some("1"), &["--min-version=1", "--max-version=1"]),
        ] {
            let number = number.map(|number| ["--composefs-version", number]);
            let (ours, theirs) = (sample.path("ours"), sample.path("theirs"));
            let options = args!["build", "-q", "--composefs", ours];
            let options = options.into_iter().chain(number.iter().flatten().map(Into::into));
            printed(options.chain(args![tree, left]));
            let store = format!("--digest-store={}", theirs.display());
            mkcomposefs(versions.iter().map(Into::into).chain(args![store, tree, right]));
            assert_eq!(difference(&left, &right), None, "{} {versions:?}", tree.display());
            assert!(objects(&ours) == objects(&theirs));
        }
    }
    tier::ran("composefs");
}

/// The beginning of the objects' names and their digests: of 65 bytes `a`, and of 5000.
const OF_65: &str = "2468a46e176a177595e990eb47a412543db36d7026e1ba03efecc1bd81abdc1d";
const OF_5000: &str = "918347c69490f04c08ed15c9711f5da336fac318892ef517e47f6c5c3f1c5811";

/// A list as `composefs-info dump` prints it, with what decides where in an image something is: entries that fill blocks or
/// parts of them, symbolic links of all lengths, attributes that are shared or not, files before their links and after them.
fn list() -> String {
    const LABEL: &str = "security.selinux=label\\x00";
    let early = "-5.7";
    let mut list = format!("/ 0 40755 2 0 0 0 {early} - - - {LABEL} user.root=r\n");
    let mut add = |line: &str| list.extend([line, "\n"]);
    // A directory that hides a folder of objects.
    add("/ab 0 40755 2 0 0 0 1.0 - - -");
    add(&format!(
        "/acl 3 100644 1 0 0 0 {early} - abc - system.posix_acl_access=\\x02\\x00\\x00\\x00"
    ));
    add("/!before\\x20dots 0 100644 1 0 0 0 1.0 - - -");
    add("/a-link 0 @120777 2 0 0 0 0.0 /z/real - -");
    for (name, digest, size) in [("of65", OF_65, 65), ("of5000", OF_5000, 5000)] {
        let (folder, rest) = digest.split_at(2);
        let path = format!("{folder}/{rest}");
        add(&format!("/{name} {size} 104755 1 70000 0 0 {early} {path} - {digest} {LABEL}"));
    }
    add("/later 9 100600 1 0 0 0 17179869184.999999999 - inline\\x0a12 -");
    for (name, mode, rdev) in [
        ("null", "20666", 259),
        ("sda", "60660", 0x123_4567),
        ("fifo", "10600", 0),
        ("sock", "140755", 0),
    ] {
        add(&format!("/{name} 0 {mode} 1 0 0 {rdev} {early} - - -"));
    }
    for entries in [84, 85, 130, 170, 171, 1000] {
        add(&format!("/of{entries:04} 0 42775 2 0 0 0 {early} - - -"));
        for entry in 0..entries {
            add(&format!("/of{entries:04}/entry{entry:07} 0 100644 1 0 0 0 {early} - - -"));
        }
    }
    add(&format!("/links 0 40755 2 0 0 0 {early} - - - trusted.overlay.opaque=y"));
    for length in (1..4095).step_by(61).chain([3900, 4031, 4032, 4033, 4063, 4064, 4065, 4095]) {
        let target = "t".repeat(length);
        add(&format!("/links/of{length:04} {length} 120777 1 0 0 0 {early} {target} - -"));
    }
    add(&format!("/xattrs 0 40755 2 0 0 0 {early} - - -"));
    for (number, length) in [3, 70, 3, 900, 3999, 70, 4000, 4001, 3].into_iter().enumerate() {
        let value = "v".repeat(length);
        let xattrs = format!("user.one={value} user.own={number} trusted.overlay.mark=m");
        add(&format!("/xattrs/of{number} 1 100644 1 0 0 0 {early} - x - {xattrs}"));
    }
    add(&format!("/z 0 40755 2 0 0 0 {early} - - -"));
    add("/z/real 4 100644 2 0 0 0 0.0 - real -");
    list
}

/// An image of the list, with its digest, and the list's path.
fn of_list(sample: &Sample, list: &str, version: &[&str]) -> (PathBuf, String) {
    let (path, store, image) = (sample.path("list"), sample.path("store"), sample.path("list.cfs"));
    fs::write(&path, list).unwrap();
    for (digest, size) in [(OF_65, 65), (OF_5000, 5000)] {
        let (folder, rest) = digest.split_at(2);
        fs::create_dir_all(store.join(folder)).unwrap();
        fs::write(store.join(folder).join(rest), vec![b'a'; size]).unwrap();
    }
    let options = args!["build", "-q", "--manifest", path, "--composefs", store].into_iter();
    let options = options.chain(version.iter().map(Into::into));
    printed(options.chain(args![store, image]));
    let digest = printed(args!["verity", "fsverity", image]);
    let digest = digest.split_whitespace().next().unwrap().trim_start_matches("sha256:").to_owned();
    assert_eq!(objects(&store).len(), 2, "no object has another name");
    (image, digest)
}

#[test]
fn an_image_of_a_list_has_the_digest_of_mkcomposefs() {
    let sample = Sample::new();
    let plain = list();
    let whiteouts = format!(
        "{plain}/z/gone 0 20000 1 0 0 0 0.0 - - -\n/links/gone 0 20000 1 0 0 0 0.0 - - -\n"
    );
    // As `mkcomposefs --print-digest-only --from-file` of version 1.0.8 prints them.
    for (list, version, expected) in [
        (&plain, &[][..], "a010b2d999fd05bf657c77bfb7a79174d61f149e680faec39c68fd41c64edf29"),
        (
            &plain,
            &["--composefs-version", "1"],
            "f93dafc9f07867bae1f1388e9600ae4107fd2307ed53fd0b752ad79737a59ba6",
        ),
        (&whiteouts, &[], "170a0e11fffb373c6fc7f023fdb5e620395ac976d9304d007f6e45a14a32dcd7"),
        (
            &whiteouts,
            &["--composefs-version", "0"],
            "6b9825cde02c9aa1e73b5b4d8e93378dd89b53d113cd04d183a506d6c126dfb5",
        ),
    ] {
        let (image, digest) = of_list(&sample, list, version);
        if is_in_path("mkcomposefs") {
            let (path, other) = (sample.path("list"), sample.path("other"));
            let versions = match version {
                [] => ["--min-version=0", "--max-version=1"],
                [_, "0"] => ["--min-version=0", "--max-version=0"],
                _ => ["--min-version=1", "--max-version=1"],
            };
            mkcomposefs(
                args!["--from-file"]
                    .into_iter()
                    .chain(versions.map(Into::into))
                    .chain(args![path, other]),
            );
            assert_eq!(difference(&image, &other), None, "{version:?}");
        }
        assert_eq!(digest, expected, "{version:?}");
    }
}

#[test]
fn hard_links_of_a_directory_become_files_and_others_stay() {
    let sample = Sample::new();
    let (store, image, plain) =
        (sample.path("objects"), sample.path("image.cfs"), sample.path("plain.erofs"));
    printed(args!["build", "-q", sample.src(), plain]);
    for (source, links) in [(sample.src(), "1"), (plain, "2")] {
        printed(args!["build", "-q", "--composefs", store, source, image]);
        let dump = printed(args!["dump", image]);
        for name in ["/hello ", "/sub/hard "] {
            let line = dump.lines().find(|line| line.starts_with(name)).unwrap();
            // Path, type, mode, owner, group, time, nanoseconds, links.
            assert_eq!(line.split(' ').nth(7), Some(links), "{line}");
        }
    }
}

#[test]
fn options_that_would_change_the_image_are_refused() {
    let sample = Sample::new();
    let (store, image) = (sample.path("objects"), sample.path("image.cfs"));
    for option in [
        "-zlz4",
        "--preset=small",
        "-b8K",
        "-Lname",
        "-Uclear",
        "-C4K",
        "-Ededupe",
        "--kernel=6.6",
        "--digests",
        "--provenance",
    ] {
        let output = lith(args!["build", option, "--composefs", store, sample.src(), image]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("cannot be used with"), "{option}: {text}");
    }
    let output = lith(args!["build", "--composefs-version", "1", sample.src(), image]);
    assert_eq!(output.status.code(), Some(2), "without a folder of objects");
    assert!(!image.exists() && !store.exists());
}
