//! Tests that holes cost nothing, whatever their size.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    time::{Duration, Instant},
};

use lith_testkit::{place, tier};

use super::{
    args,
    sample::{complaint, lith, printed},
};

/// What takes longer reads the holes: at a gigabyte a second, these take hours.
const MOST: Duration = Duration::from_secs(30);

/// A file of `size` bytes with a text at each position, if the filesystem can hold it.
fn plant(path: &Path, size: u64, positions: &[u64]) -> bool {
    let file = File::create(path).unwrap();
    if file.set_len(size).is_err() {
        return false;
    }
    for position in positions {
        file.write_all_at(b"not a hole", *position).unwrap();
    }
    true
}

#[test]
fn a_file_of_terabytes_of_holes_is_built_read_and_compared_at_once() {
    let folder = place::folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    if !plant(&path("tree/large"), 15 << 40, &[0, (7 << 40) + 5, (15 << 40) - 10]) {
        return tier::skip("sparse files", "no filesystem for files of 15 TiB");
    }
    tier::ran("sparse files");
    let started = Instant::now();
    for way in ["none", "lz4", "zstd"] {
        let (image, again) = (path(&format!("{way}.erofs")), path("again.erofs"));
        printed(args!["build", "-q", "-z", way, path("tree"), image]);
        assert!(fs::metadata(&image).unwrap().len() < 64 << 20, "{way}");
        printed(args!["build", "-q", "-z", way, image, again]);
        assert!(fs::read(&image).unwrap() == fs::read(&again).unwrap(), "{way}");
        printed(args!["diff", path("tree"), image]);
        printed(args!["check", "-q", image]);
        assert!(started.elapsed() < MOST, "{way}");
    }
}

#[test]
fn what_no_image_can_hold_is_refused_at_once_and_named() {
    let folder = place::folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    if !plant(&path("tree/huge"), (1 << 58) + 10, &[1 << 58]) {
        return tier::skip("files of exabytes", "no filesystem for them");
    }
    tier::ran("files of exabytes");
    let started = Instant::now();
    for (kernel, way) in [("6.1", "none"), ("6.1", "lz4"), ("5.4", "none"), ("5.4", "lz4")] {
        let image = path("image.erofs");
        let output =
            lith(args!["build", "--kernel", kernel, "-z", way, path("tree"), image.clone()]);
        assert_eq!(output.status.code(), Some(1));
        let line = complaint(&output);
        assert!(line.contains("huge"), "{line}");
        assert!(!image.exists() && started.elapsed() < MOST, "{way}");
    }
}
