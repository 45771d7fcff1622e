//! Tells how much time and memory this program took.

use std::{fs, time::Instant};

use lith_report::number::Bytes;

use super::error;

/// Prints time and memory on standard error.
pub(crate) fn tell(started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    let memory = peak().map(|bytes| format!(", {} of memory", Bytes(bytes))).unwrap_or_default();
    error::tell(format_args!("lith: {seconds:.2} s{memory}"));
}

/// The most memory that this process had, in bytes; `None`: the system doesn't tell.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
