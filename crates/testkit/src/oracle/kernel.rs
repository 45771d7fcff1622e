//! What does Linux say that an image holds?
//!
//! An image is mounted without a mount point: the mount lives as long as a descriptor of it, so nothing is left of a
//! test that is killed.

use std::{
    ffi::OsStr,
    fs, io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

use lith::{
    source::Source,
    tree::{DisplayPath, InodeIndex, Kind, Tree},
};
use rustix::{
    fs::{AtFlags, Stat, StatVfs, statat},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
        fsconfig_set_string, fsmount, fsopen,
    },
};

use crate::{image, tier};

const TIER: &str = "kernel mounts";

/// The block size that Linux mounts at most: that of a page.
#[must_use]
pub fn most_block_bits() -> u8 {
    rustix::param::page_size().trailing_zeros().min(16) as u8
}

/// A mounted image.
#[derive(Debug)]
pub struct Mounted {
    mount: OwnedFd,
    _loop_device: Option<LoopDevice>,
}

/// Mounts the image; nothing if this machine mounts no EROFS images, which is told.
///
/// # Panics
/// If the machine does mount images, but not this one.
#[must_use]
pub fn mount(image: &Path) -> Option<Mounted> {
    if !is_there() {
        return None;
    }
    tier::ran(TIER);
    Some(
        try_mount(image)
            .unwrap_or_else(|error| panic!("{}: Linux mounts it not: {error}", image.display())),
    )
}

/// Mounts the image, or says why Linux doesn't want to.
///
/// # Errors
/// What Linux said.
pub fn try_mount(image: &Path) -> io::Result<Mounted> {
    match mount_source(image) {
        // Before 6.12 only block devices can be mounted.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOTBLK.raw_os_error()) => {
            let device = LoopDevice::new(image)?;
            let mount = mount_source(&device.0)?;
            Ok(Mounted { mount, _loop_device: Some(device) })
        }
        mounted => mounted.map(|mount| Mounted { mount, _loop_device: None }),
    }
}

/// Whether this machine mounts EROFS images; if not, why is told.
#[must_use]
pub fn is_there() -> bool {
    let reason = if !tier::is_root() {
        "not root".to_owned()
    } else if let Err(errno) = fsopen("erofs", FsOpenFlags::FSOPEN_CLOEXEC) {
        format!("this kernel has no EROFS: {errno}")
    } else {
        return true;
    };
    tier::skip(TIER, reason);
    false
}

fn mount_source(source: &Path) -> io::Result<OwnedFd> {
    let context = fsopen("erofs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "source", source)?;
    fsconfig_set_flag(context.as_fd(), "ro")?;
    fsconfig_create(context.as_fd())?;
    let readonly = MountAttrFlags::MOUNT_ATTR_RDONLY;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, readonly)?)
}

impl Mounted {
    /// A path that leads to the root, in this process.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}/", self.mount.as_raw_fd()).into()
    }

    /// The tree that Linux shows.
    #[must_use]
    pub fn tree(&self) -> Source {
        image::directory(&self.path())
    }

    /// What Linux says about the whole filesystem.
    #[must_use]
    pub fn statistics(&self) -> StatVfs {
        rustix::fs::fstatvfs(&self.mount).unwrap()
    }

    /// Compares what `stat` and `readdir` say with `expected`, in what a [`Tree`] doesn't show: link counts as they
    /// are stored, inode numbers, the types in directories.
    pub fn assert_stats(&self, expected: &Tree) {
        let mut numbers = vec![None; expected.len()];
        for visit in expected.walk() {
            let path = expected.path(visit.parent);
            let path = match visit.name {
                Some(name) => [&path[..], name.as_bytes()].join(&b'/'),
                None => b".".to_vec(),
            };
            let path = path.strip_prefix(b"/").unwrap_or(&path);
            if path.len() >= 4096 {
                continue;
            }
            let stat = statat(&self.mount, path, AtFlags::SYMLINK_NOFOLLOW).unwrap();
            let inode = expected.get(visit.inode);
            let shown = DisplayPath(path);
            assert_eq!(stat.st_nlink, u64::from(inode.nlink()).into_nlink(), "{shown}: link count");
            assert_eq!(
                size_of(expected, visit.inode).unwrap_or(stat.st_size),
                stat.st_size,
                "{shown}: size"
            );
            let number: &mut Option<u64> = &mut numbers[visit.inode.index()];
            assert_eq!(*number.get_or_insert(stat.st_ino), stat.st_ino, "{shown}: hard link");
            if inode.as_directory().is_some() {
                self.assert_types(path, &stat);
            }
        }
        let distinct: std::collections::HashSet<_> = numbers.iter().flatten().collect();
        assert_eq!(distinct.len(), numbers.iter().flatten().count(), "two inodes have one number");
    }

    fn assert_types(&self, path: &[u8], directory: &Stat) {
        let folder = self.path().join(OsStr::from_bytes(path));
        let mut names = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let stat = entry.metadata().unwrap();
            assert_eq!(entry.file_type().unwrap(), stat.file_type(), "{}", entry.path().display());
            names += 1;
        }
        assert!(names > 0 || directory.st_nlink == 2);
    }
}

/// Link counts have different types on different machines.
trait IntoNlink<T> {
    fn into_nlink(self) -> T;
}

impl IntoNlink<u64> for u64 {
    fn into_nlink(self) -> u64 {
        self
    }
}

impl IntoNlink<u32> for u64 {
    fn into_nlink(self) -> u32 {
        self as u32
    }
}

fn size_of(tree: &Tree, inode: InodeIndex) -> Option<i64> {
    match &tree.get(inode).kind {
        Kind::Regular { size } => i64::try_from(*size).ok(),
        Kind::Symlink(target) => i64::try_from(target.len()).ok(),
        _ => None,
    }
}

/// A block device on a file.
#[derive(Debug)]
struct LoopDevice(PathBuf);

impl LoopDevice {
    fn new(image: &Path) -> io::Result<Self> {
        let output = Command::new("losetup")
            .args(["--find", "--show", "--read-only"])
            .arg(image)
            .output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let name = String::from_utf8_lossy(&output.stdout);
        Ok(Self(name.trim().into()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // Busy until the mount is gone, a moment later; then the kernel detaches it by itself.
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}
