//! Tests that the sandbox of servers leaves only what is named.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{fs, process::Command};

use lith_testkit::tier;

/// What becomes of an attempt in a sandbox with a folder.
fn attempt(folder: &str, what: &str, path: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lith-test-child"));
    let output = child.args(["sandbox", folder, what, path]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let problem = String::from_utf8(output.stderr).unwrap();
    assert_eq!(problem, "", "{what} {path}");
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn only_what_is_named_can_be_opened_and_nothing_can_be_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "bytes").unwrap();
    let (folder, file) = (folder.path().to_str().unwrap(), file.to_str().unwrap());
    if attempt(folder, "read", file) == "no Landlock" {
        tier::skip("sandbox", "the kernel has no Landlock");
        return;
    }
    for (what, path, expected) in [
        ("read", file, "done"),
        ("read", "/etc/passwd", "EACCES"),
        ("write", file, "EACCES"),
        ("start", "/bin/true", "EPERM"),
        ("connect", "127.0.0.1:1", "EPERM"),
        ("unmount", folder, "EPERM"),
        ("thread", "", "done"),
    ] {
        assert_eq!(attempt(folder, what, path), expected, "{what} {path}");
    }
    tier::ran("sandbox");
}
