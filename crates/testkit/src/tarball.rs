//! Makes tars of folders by GNU tar, with members in any order.

use std::{
    ffi::OsStr,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Stdio},
};

use lith::tree::Tree;

use crate::{noise::Noise, oracle::tools::is_in_path, tier};

/// Writes all names of `tree`, which was read from `folder`, into the tar `to`, in an order that `seed` decides. False
/// if there is no GNU tar, which is reported.
#[must_use]
pub fn make(tree: &Tree, folder: &Path, to: &Path, seed: u64) -> bool {
    if !is_there() {
        return false;
    }
    let mut paths: Vec<Vec<u8>> = tree.walk().map(|visit| path_of(tree, &visit)).collect();
    Noise::new(seed).shuffle(&mut paths);
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--format=posix",
        "--numeric-owner",
        "--sparse",
        "--xattrs",
        "--xattrs-include=*",
        "--acls",
    ])
    .arg("--file")
    .arg(to)
    .arg("--directory")
    .arg(folder)
    .args(["--no-recursion", "--null", "--verbatim-files-from", "--files-from=-"])
    .stdin(Stdio::piped());
    let mut child = tar.spawn().unwrap();
    let mut list = child.stdin.take().unwrap();
    for path in paths {
        list.write_all(&path).unwrap();
        list.write_all(&[0]).unwrap();
    }
    drop(list);
    assert!(child.wait().unwrap().success());
    true
}

/// Extracts a tar with all that it holds.
pub fn extract(tar: &Path, to: &Path) {
    let status = Command::new("tar")
        .args([
            "--extract",
            "--preserve-permissions",
            "--same-owner",
            "--numeric-owner",
            "--delay-directory-restore",
        ])
        .args(["--xattrs", "--xattrs-include=*", "--acls", "--warning=no-timestamp", "--directory"])
        .args([to.as_os_str(), OsStr::new("--file"), tar.as_os_str()])
        .status();
    assert!(status.unwrap().success());
}

fn path_of(tree: &Tree, visit: &lith::tree::Visit<'_>) -> Vec<u8> {
    let parent = tree.path(visit.parent);
    let name = visit.name.map_or(&b""[..], |name| name.as_bytes());
    let parts: Vec<&[u8]> =
        [b".", &parent[..], name].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(&b'/')
}

fn is_there() -> bool {
    let version = Command::new("tar").arg("--version").output();
    let is_gnu = version.is_ok_and(|output| output.stdout.starts_with(b"tar (GNU tar)"));
    if !is_in_path("tar") || !is_gnu {
        tier::skip("GNU tar", "there is none");
    }
    is_gnu
}

/// A path as Linux takes it.
#[must_use]
pub fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
