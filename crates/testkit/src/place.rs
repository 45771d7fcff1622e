//! Makes folders for tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, XattrFlags},
    io::Errno,
};
use tempfile::TempDir;

/// The most bytes that the tests of one program store at a time.
const SPACE: u64 = 2 << 30;

/// A new folder, removed on drop, on a filesystem that stores all attributes of Linux: times before 1901, long
/// extended attributes. That is a tmpfs if there is one with enough free space. `LITH_TEST_DIR` names another
/// place.
#[must_use]
pub fn folder() -> TempDir {
    let chosen = std::env::var_os("LITH_TEST_DIR").map(PathBuf::from);
    let memory = PathBuf::from("/dev/shm");
    let place = chosen.or_else(|| has_space(&memory).then_some(memory));
    tempfile::Builder::new()
        .prefix("lith-test-")
        .tempdir_in(place.unwrap_or_else(std::env::temp_dir))
        .unwrap()
}

/// A new folder, removed on drop, that is probably on a disk: Linux mounts no images that are files of a tmpfs.
#[must_use]
pub fn folder_on_disk() -> TempDir {
    let chosen = std::env::var_os("LITH_TEST_DIR").map(PathBuf::from);
    let place = chosen.unwrap_or_else(|| PathBuf::from("/var/tmp"));
    tempfile::Builder::new().prefix("lith-test-").tempdir_in(place).unwrap()
}

/// A new folder, removed on drop, for large files: where temporary files usually are.
#[must_use]
pub fn large_folder() -> TempDir {
    let place = std::env::var_os("LITH_TEST_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::Builder::new().prefix("lith-test-").tempdir_in(place).unwrap()
}

fn has_space(place: &Path) -> bool {
    let Ok(space) = rustix::fs::statvfs(place) else { return false };
    space.f_bavail.saturating_mul(space.f_frsize) >= SPACE
        && tempfile::tempdir_in(place).is_ok_and(|probe| takes_xattrs(probe.path()))
}

fn takes_xattrs(folder: &Path) -> bool {
    let file = folder.join("probe");
    fs::write(&file, "").is_ok()
        && rustix::fs::setxattr(&file, "user.probe", &vec![1; 60_000], XattrFlags::empty()).is_ok()
}

/// Whether the filesystem at `folder` has files without names, so that a killed process leaves nothing.
#[must_use]
pub fn has_nameless_files(folder: &Path) -> bool {
    match rustix::fs::open(folder, OFlags::TMPFILE | OFlags::RDWR, Mode::RWXU) {
        Ok(_) => true,
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => false,
        Err(errno) => panic!("{}: {errno}", folder.display()),
    }
}

/// The names in a folder, sorted.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
