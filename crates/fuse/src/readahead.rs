//! Raises the kernel's read-ahead of a mount.

use std::{fs, path::Path};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// KiB that the kernel reads ahead of a sequential reader, instead of its default 128: four of the largest requests, so
/// that some are decoded while others are copied.
const READ_AHEAD_KIB: u32 = 4096;

/// Raises the read-ahead of the mount at `directory`; false without the right to.
pub(crate) fn raise(directory: &Path) -> bool {
    // DONT_SYNC: without a request, since no thread answers yet.
    let Ok(found) = statx(CWD, directory, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE) else {
        return false;
    };
    let (major, minor) = (found.stx_dev_major, found.stx_dev_minor);
    let file = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    fs::write(file, READ_AHEAD_KIB.to_string()).is_ok()
}
