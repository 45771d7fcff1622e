//! Reports which checks ran on this machine and which were skipped.
//!
//! The lines bypass the test harness, which hides the output of tests that pass: `.ci/run` counts them.

use std::{
    collections::BTreeSet,
    fmt::Display,
    io::{self, Write},
    sync::Mutex,
};

use rustix::mount::{FsOpenFlags, fsopen};

static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Reports that checks of `tier` are skipped, and why: once in each test program.
pub fn skip(tier: &str, reason: impl Display) {
    report(format!("SKIP {tier}: {reason}\n"));
}

/// Reports that checks of `tier` run: once in each test program.
pub fn ran(tier: &str) {
    report(format!("RAN {tier}\n"));
}

fn report(line: String) {
    let mut reported = REPORTED.lock().unwrap();
    if !reported.contains(&line) {
        // A closed standard error is no reason to fail.
        let _ = io::stderr().write_all(line.as_bytes());
        reported.insert(line);
    }
}

/// Whether the process runs as root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether the process may mount filesystems; in containers root may not.
///
/// # Errors
/// Why not.
pub fn can_mount() -> Result<(), String> {
    if !is_root() {
        return Err("not root".into());
    }
    let tmpfs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC);
    tmpfs.map(drop).map_err(|errno| format!("mounting: {errno}"))
}

/// Whether `LITH_HEAVY_TESTS=1` requests tests that take minutes.
#[must_use]
pub fn is_heavy() -> bool {
    std::env::var_os("LITH_HEAVY_TESTS").is_some_and(|value| value == "1")
}
