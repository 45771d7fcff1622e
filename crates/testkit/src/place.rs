//! Where can tests write?

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, XattrFlags},
    io::Errno,
};
use tempfile::TempDir;

/// Room that the tests of one program take at most.
const ROOM: u64 = 2 << 30;

/// A new folder that vanishes when it is dropped, on a filesystem that holds what Linux knows: times before 1901,
/// long extended attributes. That is a tmpfs where there is one with enough room. `LITH_TEST_DIR` names another
/// place.
#[must_use]
pub fn folder() -> TempDir {
    let chosen = std::env::var_os("LITH_TEST_DIR").map(PathBuf::from);
    let memory = PathBuf::from("/dev/shm");
    let place = chosen.or_else(|| has_room(&memory).then_some(memory));
    tempfile::Builder::new()
        .prefix("lith-test-")
        .tempdir_in(place.unwrap_or_else(std::env::temp_dir))
        .unwrap()
}

/// A new folder that vanishes when it is dropped, where temporary files usually are: for what is large.
#[must_use]
pub fn large_folder() -> TempDir {
    let place = std::env::var_os("LITH_TEST_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::Builder::new().prefix("lith-test-").tempdir_in(place).unwrap()
}

fn has_room(place: &Path) -> bool {
    let Ok(room) = rustix::fs::statvfs(place) else { return false };
    room.f_bavail.saturating_mul(room.f_frsize) >= ROOM
        && tempfile::tempdir_in(place).is_ok_and(|probe| takes_xattrs(probe.path()))
}

fn takes_xattrs(folder: &Path) -> bool {
    let file = folder.join("probe");
    fs::write(&file, "").is_ok()
        && rustix::fs::setxattr(&file, "user.probe", &vec![1; 60_000], XattrFlags::empty()).is_ok()
}

/// Whether the filesystem at `folder` has files without names, so that nothing is left of a killed process.
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
