//! How far ahead does the kernel read?

use std::{fs, path::Path};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// KiB that the kernel reads ahead of a sequential reader; without the right to say so, its own 128. Four of the largest
/// requests: some are decoded while others are taken.
const READ_AHEAD_KIB: u32 = 4096;

/// Lets the kernel read ahead further on the mount at `directory`; false if the process may not.
pub(crate) fn raise(directory: &Path) -> bool {
    // The device number is known without a request, which nobody would answer yet.
    let Ok(found) = statx(CWD, directory, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE) else {
        return false;
    };
    let (major, minor) = (found.stx_dev_major, found.stx_dev_minor);
    let file = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    fs::write(file, READ_AHEAD_KIB.to_string()).is_ok()
}
