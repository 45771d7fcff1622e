//! What runs in a machine that [`crate::oracle::emulated`] boots: it mounts images and tells what it sees.

use std::{
    fs::{self, File},
    io::Write,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
};

use lith::tree::{Filesystem, dump};
use rustix::{
    mount::{MountFlags, mount},
    system::{RebootCommand, finit_module, reboot},
};

use crate::{image, oracle::kernel};

/// The folder with modules of the kernel, in the order in which they are loaded.
pub const MODULES: &str = "modules";
/// The folder with a folder for each image: [`PRIMARY`], and its further devices, sorted.
pub const IMAGES: &str = "images";
/// The name of an image's primary device.
pub const PRIMARY: &str = "0";
/// What each line starts with that tells what became of an image: this, its name, and the verdict, split by tabs.
pub const MARK: &str = "LITH";
/// The verdict on an image that the kernel doesn't mount.
pub const REFUSED: &str = "refused";
/// The verdict on an image that the kernel mounts, but does not read.
pub const UNREADABLE: &str = "unreadable";

/// Runs as the first process of a machine, and ends it.
pub fn run() {
    prepare();
    let mut console = File::options().write(true).open("/dev/console").unwrap();
    for folder in sorted(&Path::new("/").join(IMAGES)) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let verdict = panic::catch_unwind(AssertUnwindSafe(|| see(&folder)));
        let verdict = verdict.unwrap_or_else(|_panic| UNREADABLE.to_owned());
        writeln!(console, "{MARK}\t{name}\t{verdict}").unwrap();
    }
    console.flush().unwrap();
    reboot(RebootCommand::Restart).unwrap();
}

fn prepare() {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        fs::create_dir_all(at).unwrap();
        mount(kind, at, kind, MountFlags::empty(), None).unwrap();
    }
    for module in sorted(&Path::new("/").join(MODULES)) {
        let file = File::open(&module).unwrap();
        // What is missing then shows as an image that isn't mounted.
        if let Err(errno) = finit_module(file, c"", 0) {
            eprintln!("{}: {errno}", module.display());
        }
    }
}

/// What the kernel makes of an image.
fn see(folder: &Path) -> String {
    let devices = sorted(folder);
    let (primary, others) = devices.split_first().unwrap();
    match kernel::try_mount_by_loop(primary, others) {
        Ok(mounted) => digest(mounted.tree().filesystem()),
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            REFUSED.to_owned()
        }
    }
}

/// The digest of a tree with all that it holds.
#[must_use]
pub fn digest(tree: Filesystem<'_>) -> String {
    let mut text = Vec::new();
    dump(tree, &mut text).unwrap();
    image::digest(&text)
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
