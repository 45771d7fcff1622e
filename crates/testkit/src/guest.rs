//! What runs in a machine that [`crate::oracle::emulated`] boots: it mounts images and tells what it sees.

use std::{
    fs::{self, File},
    io::{self, Write},
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::Command,
};

use lith::tree::{Filesystem, dump};
use rustix::{
    io::Errno,
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
/// The name of the file beside it with what dm-verity is set up with: the root hash, a space, and where in the primary device the
/// superblock of the hash tree is.
pub const ROOT_HASH: &str = "root-hash";
/// What each line starts with that tells what became of an image: this, its name, and the verdict, split by tabs.
pub const MARK: &str = "LITH";
/// The verdict on an image that the kernel doesn't mount.
pub const REFUSED: &str = "refused";
/// The verdict on an image that the kernel mounts, but does not read.
pub const UNREADABLE: &str = "unreadable";
/// What the verdict on an image starts with of which dm-verity withholds something: the names of what is read with `EIO` follow.
pub const WITHHELD: &str = "EIO:";
/// The last word of the verdict on an image that isn't mounted, as its superblock is withheld.
pub const SUPERBLOCK: &str = "superblock";

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
    if let Ok(protection) = fs::read_to_string(folder.join(ROOT_HASH)) {
        let (root_hash, position) = protection.split_once(' ').unwrap();
        return see_protected(&folder.join(PRIMARY), root_hash, position);
    }
    let (primary, others) = devices.split_first().unwrap();
    match kernel::try_mount_by_loop(primary, others) {
        Ok(mounted) => digest(mounted.tree().filesystem()),
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            REFUSED.to_owned()
        }
    }
}

/// What the kernel makes of an image that it reads through dm-verity.
fn see_protected(image: &Path, root_hash: &str, position: &str) -> String {
    let name = image.parent().unwrap().file_name().unwrap();
    let opened = Command::new("veritysetup")
        // Nobody else would make the device's node.
        .env("DM_DISABLE_UDEV", "1")
        .arg("open")
        .arg(format!("--hash-offset={position}"))
        .args([image.as_os_str(), name, image.as_os_str(), root_hash.as_ref()])
        .status();
    assert!(opened.unwrap().success(), "veritysetup opens no device");
    match kernel::try_mount(&Path::new("/dev/mapper").join(name)) {
        Err(error) if is_withheld(&error) => format!("{WITHHELD} {SUPERBLOCK}"),
        Err(_) => REFUSED.to_owned(),
        Ok(mounted) => match &*withheld(&mounted.path()).unwrap() {
            [] => digest(mounted.tree().filesystem()),
            names => format!("{WITHHELD} {}", names.join(" ")),
        },
    }
}

/// The names of all files and folders below one that are read with `EIO`.
fn withheld(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        let read = match () {
            () if kind.is_dir() => withheld(&entry.path()).map(|below| names.extend(below)),
            () if kind.is_file() => fs::read(entry.path()).map(drop),
            () => Ok(()),
        };
        match read {
            Err(error) if is_withheld(&error) => {
                names.push(entry.file_name().display().to_string());
            }
            other => other?,
        }
    }
    Ok(names)
}

fn is_withheld(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
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
