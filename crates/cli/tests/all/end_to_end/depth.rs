//! Tests that what is done to a directory costs the same at any depth.

use std::{
    fs::{self, File},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use lith_testkit::{place, tier};
use rustix::fs::{Mode, OFlags, mkdirat, openat};

use super::{args, sample::printed};

/// Directories in each other.
const DEPTH: usize = 8000;

/// Seconds of CPU time for each command: what takes a path from the root for each directory takes more than ten.
const MOST: u32 = 4;

/// A tree of directories in each other, each with a file.
fn dig(root: &Path) {
    fs::create_dir(root).unwrap();
    let mut at = OwnedFd::from(File::open(root).unwrap());
    for number in 0..DEPTH {
        mkdirat(&at, "d", Mode::RWXU).unwrap();
        at = openat(&at, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let flags = OFlags::WRONLY | OFlags::CREATE;
        let file = File::from(openat(&at, "f", flags, Mode::RUSR | Mode::WUSR).unwrap());
        rustix::io::write(&file, number.to_string().as_bytes()).unwrap();
    }
}

/// Removes its directory when it is dropped, which the standard library doesn't do at such a depth.
struct Deep(PathBuf);

impl Drop for Deep {
    fn drop(&mut self) {
        let _ = Command::new("rm").arg("-rf").arg(&self.0).status();
    }
}

#[test]
fn deep_trees_take_no_longer_than_wide_ones() {
    if Command::new("prlimit").arg("--version").stdout(Stdio::null()).status().is_err() {
        return tier::skip("deep trees", "no prlimit");
    }
    tier::ran("deep trees");
    let folder = place::folder();
    let path = |name: &str| folder.path().join(name);
    let (tree, out) = (Deep(path("tree")), Deep(path("out")));
    dig(&tree.0);
    let (image, again) = (path("image.erofs"), path("again.erofs"));
    for args in [
        args!["build", "-q", tree.0, image].to_vec(),
        args!["check", "-q", image].to_vec(),
        args!["extract", "-q", image, out.0].to_vec(),
        args!["diff", out.0, image].to_vec(),
        args!["build", "-q", image, again].to_vec(),
        args!["tar", "-q", image].to_vec(),
        args!["dump", image].to_vec(),
    ] {
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--cpu={MOST}")).arg(assert_cmd::cargo::cargo_bin!("lith"));
        let output = limited.args(&args).stdout(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*said), (Some(0), ""), "{args:?}: {:?}", output.status);
    }
    assert!(fs::read(&image).unwrap() == fs::read(&again).unwrap());
    assert_eq!(printed(args!["cat", image, "d/d/d/f"]), "2");
}
