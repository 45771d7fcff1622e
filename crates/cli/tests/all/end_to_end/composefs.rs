//! Tests `lith build --composefs`, and reading such images with their objects.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use lith_testkit::{
    oracle::{kernel, tools::is_in_path},
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

#[test]
fn trees_and_objects_are_those_of_mkcomposefs() {
    if !is_in_path("mkcomposefs") {
        tier::skip("composefs", "no mkcomposefs");
        return;
    }
    let (sample, image, store) = built();
    // mkcomposefs doesn't look for hard links.
    let options = args!["build", "-q", "--dereference-hard-links", "--composefs", store];
    printed(options.into_iter().chain(args![sample.src(), image]));
    let (other, others) = (sample.path("other.erofs"), sample.path("other"));
    let mut program = Command::new("mkcomposefs");
    program.args(["--min-version=1", "--max-version=1"]);
    program.arg(format!("--digest-store={}", others.display()));
    assert!(program.arg(sample.src()).arg(&other).status().unwrap().success());
    let (left, right) = (printed(args!["dump", image]), printed(args!["dump", other]));
    let differs = left.lines().zip(right.lines()).find(|(left, right)| left != right);
    assert_eq!(differs, None);
    assert_eq!(left.lines().count(), right.lines().count());
    assert!(objects(&store) == objects(&others));
    // Either reads the objects of the other.
    let out = sample.path("out");
    printed(args!["extract", "-q", "--objects", store, "-C", out, other]);
    let large = "sub/large";
    assert_eq!(fs::read(out.join(large)).unwrap(), fs::read(sample.src().join(large)).unwrap());
    tier::ran("composefs");
}
