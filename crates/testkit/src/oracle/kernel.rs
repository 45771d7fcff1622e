//! Mounts images by the kernel.
//!
//! An image is mounted without a mount point: the mount lives as long as a descriptor of it, so nothing is left of a
//! test that is killed.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use lith::{
    source::Source,
    tree::{Filesystem, Tree},
};
use rustix::{
    fs::StatVfs,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
        fsconfig_set_string, fsmount, fsopen,
    },
};

use super::stats;
use crate::{golden, image, tier};

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
    _loop_devices: Vec<LoopDevice>,
}

/// Mounts the image; `None` if this machine mounts no EROFS images, which is reported.
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

/// Mounts the image, or returns why Linux refuses.
///
/// # Errors
/// The error of the kernel.
pub fn try_mount(image: &Path) -> io::Result<Mounted> {
    try_mount_with(image, &[])
}

/// Mounts an image whose device table names these devices.
///
/// # Errors
/// The error of the kernel.
pub fn try_mount_with(image: &Path, devices: &[PathBuf]) -> io::Result<Mounted> {
    match try_mount_files(image, devices)? {
        Some(mounted) => Ok(mounted),
        None => try_mount_by_loop(image, devices),
    }
}

/// The same of files that are no block devices; `None`: the kernel mounts only these, or none of the filesystem that the files
/// are on, as of a tmpfs.
///
/// # Errors
/// The error of the kernel.
pub fn try_mount_files(image: &Path, devices: &[PathBuf]) -> io::Result<Option<Mounted>> {
    match mount_source(image, devices) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOTBLK.raw_os_error()) => {
            Ok(None)
        }
        mounted => mounted.map(|mount| Some(Mounted { mount, _loop_devices: Vec::new() })),
    }
}

/// The same with all of them on loop devices.
///
/// # Errors
/// The error of the kernel.
pub fn try_mount_by_loop(image: &Path, devices: &[PathBuf]) -> io::Result<Mounted> {
    let loop_device = |path: &PathBuf| LoopDevice::new(path);
    let others: Vec<_> = devices.iter().map(loop_device).collect::<Result<_, _>>()?;
    let paths: Vec<_> = others.iter().map(|device| device.0.clone()).collect();
    let device = LoopDevice::new(image)?;
    let mount = mount_source(&device.0, &paths)?;
    Ok(Mounted { mount, _loop_devices: others.into_iter().chain([device]).collect() })
}

/// Whether this machine mounts EROFS images; if not, the reason is reported.
#[must_use]
pub fn is_there() -> bool {
    static REFUSAL: OnceLock<Option<String>> = OnceLock::new();
    let refusal = REFUSAL.get_or_init(|| refusal().err());
    if let Some(reason) = refusal {
        tier::skip(TIER, reason);
    }
    refusal.is_none()
}

/// Tries to mount an image that every kernel with EROFS mounts. In containers there may be no loop devices.
fn refusal() -> Result<(), String> {
    tier::can_mount()?;
    fsopen("erofs", FsOpenFlags::FSOPEN_CLOEXEC)
        .map_err(|errno| format!("this kernel has no EROFS: {errno}"))?;
    let plain = golden::folder().join("01-plain.erofs");
    try_mount(&plain).map(drop).map_err(|error| error.to_string().trim().to_owned())
}

fn mount_source(source: &Path, devices: &[PathBuf]) -> io::Result<OwnedFd> {
    let context = fsopen("erofs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "source", source)?;
    fsconfig_set_flag(context.as_fd(), "ro")?;
    for device in devices {
        fsconfig_set_string(context.as_fd(), "device", device)?;
    }
    fsconfig_create(context.as_fd())?;
    let readonly = MountAttrFlags::MOUNT_ATTR_RDONLY;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, readonly)?)
}

impl Mounted {
    /// A path that leads to the root, in this process.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        stats::path(&self.mount)
    }

    /// The tree that Linux shows.
    #[must_use]
    pub fn tree(&self) -> Source {
        image::directory(&self.path())
    }

    /// The result of `statvfs`.
    #[must_use]
    pub fn statistics(&self) -> StatVfs {
        rustix::fs::fstatvfs(&self.mount).unwrap()
    }

    /// Compares what a [`Tree`] doesn't show with `expected`: see [`stats::assert_stats`].
    pub fn assert_stats(&self, expected: &Tree) {
        stats::assert_stats(&self.mount, expected);
    }

    /// Reads parts of files in random order and compares them.
    pub fn read_at_random(&self, expected: Filesystem<'_>, seed: u64) {
        stats::read_at_random(&self.mount, expected, seed);
    }
}

/// A block device on a file.
#[derive(Debug)]
pub struct LoopDevice(PathBuf);

impl LoopDevice {
    fn new(image: &Path) -> io::Result<Self> {
        Self::with(&["--read-only"], image)
    }

    /// A device that can be written, with the bytes of a file.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn writable(file: &Path) -> io::Result<Self> {
        Self::with(&[], file)
    }

    /// The path of the device.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn with(options: &[&str], file: &Path) -> io::Result<Self> {
        let mut command = Command::new("losetup");
        let output = command.args(["--find", "--show"]).args(options).arg(file).output()?;
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
