//! Mounts an image with the kernel's EROFS driver.

use std::{
    ffi::CString,
    fs, io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::{io::Errno, mount::MountFlags};

use crate::{
    args::mount::{Mount, Prefetch, Settings},
    output::error::without_number,
};

/// What [`mount`] returns if the kernel reads the file itself.
pub(in crate::run) const FROM_FILE: &str = "from the file";

/// Why the kernel did not mount an image.
pub(super) fn refusal(error: &io::Error) -> String {
    format!("the kernel can't mount it: {}", without_number(&error.to_string()))
}

/// Whether the kernel can take what is in memory of the image's file: not if it reads the device below.
pub(super) fn reads_memory(request: &Mount, settings: &Settings) -> bool {
    let is_direct = settings.kernel.iter().any(|option| option == "directio");
    let is_device = is_block_device(&request.image.image).unwrap_or(false);
    let can_be_buffered = request.prefetch != Prefetch::Auto || !settings.loop_device;
    !is_direct && !is_device && can_be_buffered
}

/// Mounts it and returns from what: a block device, the file itself, or a loop device on it, which reads what is in memory of
/// the file if some of it is read ahead. All devices of an image must be of one kind.
pub(crate) fn mount(request: &Mount, settings: &Settings, ahead: bool) -> io::Result<&'static str> {
    let image = request.image.image.canonicalize()?;
    let devices = settings.devices.devices.iter().map(|device| device.canonicalize());
    let devices = devices.collect::<Result<Vec<_>, _>>()?;
    let is_device = is_block_device(&image)?;
    let has_block_devices = devices.iter().map(|device| is_block_device(device));
    let has_block_devices = has_block_devices.collect::<Result<Vec<_>, _>>()?.contains(&true);
    let at = |(source, devices): (&Path, &[PathBuf]), offset| {
        mount_source((source, devices), &request.directory, settings, offset)
    };
    let by_loop = || {
        let further: Vec<_> =
            devices.iter().map(|path| Block::new(path, 0)).collect::<Result<_, _>>()?;
        let paths: Vec<_> = further.iter().map(|block: &Block| block.path().to_owned()).collect();
        if is_device {
            return at((&image, &paths), settings.offset).map(|()| "from the block device");
        }
        let block = if ahead { Block::buffered } else { Block::new };
        let primary = block(&image, settings.offset)?;
        at((primary.path(), &paths), 0).map(|()| "from a loop device")
    };
    if is_device || has_block_devices || settings.loop_device {
        return by_loop();
    }
    match at((&image, &devices), settings.offset) {
        Ok(()) => Ok(FROM_FILE),
        // Older kernels mount no file, or only whole ones; none mounts a file on tmpfs.
        Err(error) if may_need_loop(&error) => by_loop(),
        Err(error) => Err(error),
    }
}

fn is_block_device(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.file_type().is_block_device())
}

fn may_need_loop(error: &io::Error) -> bool {
    [Errno::NOTBLK, Errno::INVAL]
        .map(|errno| Some(errno.raw_os_error()))
        .contains(&error.raw_os_error())
}

pub(super) fn mount_source(
    (source, devices): (&Path, &[PathBuf]),
    directory: &Path,
    settings: &Settings,
    offset: u64,
) -> io::Result<()> {
    let data = data(settings, devices, offset)?;
    let flags = MountFlags::from_bits_retain(settings.set.bits()) | MountFlags::RDONLY;
    Ok(rustix::mount::mount(source, directory, "erofs", flags, data.as_c_str())?)
}

/// The data argument of mount(2): all options but flags.
fn data(settings: &Settings, devices: &[PathBuf], offset: u64) -> io::Result<CString> {
    let mut options = settings.kernel.clone();
    if offset != 0 {
        options.push(format!("fsoffset={offset}"));
    }
    for device in devices {
        let name = device.to_str().filter(|name| !name.contains(','));
        let name = name.ok_or_else(|| {
            io::Error::other(
                "the kernel can't be given a device path with a comma or invalid UTF-8",
            )
        })?;
        options.push(format!("device={name}"));
    }
    Ok(CString::new(options.join(","))?)
}

/// A block device that holds a file.
enum Block {
    /// It is the file.
    Own(PathBuf),
    /// A loop device on the file.
    Loop(LoopDevice),
}

impl Block {
    fn new(path: &Path, offset: u64) -> io::Result<Self> {
        if is_block_device(path)? {
            return Ok(Self::Own(path.to_owned()));
        }
        LoopDevice::new(path, offset).map(Self::Loop)
    }

    /// The same with a loop device that reads what is in memory of the file.
    fn buffered(path: &Path, offset: u64) -> io::Result<Self> {
        let block = Self::new(path, offset)?;
        if let Self::Loop(device) = &block {
            device.losetup("--direct-io=off");
        }
        Ok(block)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Own(path) => path,
            Self::Loop(device) => &device.0,
        }
    }
}

/// The program losetup(8). Its usual paths are tried first, because mount(8) calls its helpers without a PATH.
fn losetup() -> Command {
    let known = ["/usr/sbin/losetup", "/sbin/losetup"];
    let path = known.into_iter().find(|path| Path::new(path).exists());
    Command::new(path.unwrap_or("losetup"))
}

/// A loop device on a file, which the kernel removes after its last use.
struct LoopDevice(PathBuf);

impl LoopDevice {
    fn new(image: &Path, offset: u64) -> io::Result<Self> {
        let mut command = losetup();
        command.args(["--find", "--show", "--read-only", "--offset", &offset.to_string()]);
        let output = command.arg("--").arg(image).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(message.trim().to_owned()));
        }
        let device = Self(String::from_utf8_lossy(&output.stdout).trim().into());
        // Direct I/O saves a second copy in the page cache; it fails where the file's filesystem has none.
        device.losetup("--direct-io=on");
        Ok(device)
    }

    fn losetup(&self, option: &str) {
        let mut command = losetup();
        command.arg(option).arg(&self.0).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status();
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // While it is mounted, this only marks it for removal at unmount.
        self.losetup("--detach");
    }
}
