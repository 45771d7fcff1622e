//! Which checks ran on this machine, and which could not?
//!
//! What is told here goes past the test harness, which hides the output of tests that pass: `.ci/run` counts the
//! lines.

use std::{
    collections::BTreeSet,
    fmt::Display,
    io::{self, Write},
    sync::Mutex,
};

static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Says that checks of `tier` are left out, and why; the same is said once in each test program.
pub fn skip(tier: &str, reason: impl Display) {
    tell(format!("SKIP {tier}: {reason}\n"));
}

/// Says that checks of `tier` are made; that is said once in each test program.
pub fn ran(tier: &str) {
    tell(format!("RAN {tier}\n"));
}

fn tell(line: String) {
    let mut told = TOLD.lock().unwrap();
    if !told.contains(&line) {
        // Nobody reads it if nobody can.
        let _ = io::stderr().write_all(line.as_bytes());
        told.insert(line);
    }
}

/// Whether the process may do what only root may.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether tests that take minutes are asked for, by `LITH_HEAVY_TESTS=1`.
#[must_use]
pub fn is_heavy() -> bool {
    std::env::var_os("LITH_HEAVY_TESTS").is_some_and(|value| value == "1")
}
