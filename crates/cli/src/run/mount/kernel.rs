//! Mounts an image with the kernel's EROFS driver.

use std::{
    ffi::CString,
    fs, io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::{io::Errno, mount::MountFlags};

use crate::args::mount::{Mount, Settings};

/// Mounts it and returns from what: a block device, the file itself, or a loop device on it.
pub(crate) fn mount(request: &Mount, settings: &Settings) -> io::Result<&'static str> {
    let image = request.image.image.canonicalize()?;
    let is_device = fs::metadata(&image)?.file_type().is_block_device();
    let at = |source: &Path, offset| mount_source(source, &request.directory, settings, offset);
    let by_loop = || {
        let device = LoopDevice::new(&image, settings.offset)?;
        at(&device.0, 0).map(|()| "from a loop device")
    };
    if settings.loop_device && !is_device {
        return by_loop();
    }
    match at(&image, settings.offset) {
        Ok(()) if is_device => Ok("from the block device"),
        Ok(()) => Ok("from the file"),
        // Older kernels mount no file, or only whole ones; none mounts a file on tmpfs.
        Err(error) if !is_device && may_need_loop(&error) => by_loop(),
        Err(error) => Err(error),
    }
}

fn may_need_loop(error: &io::Error) -> bool {
    [Errno::NOTBLK, Errno::INVAL]
        .map(|errno| Some(errno.raw_os_error()))
        .contains(&error.raw_os_error())
}

fn mount_source(
    source: &Path,
    directory: &Path,
    settings: &Settings,
    offset: u64,
) -> io::Result<()> {
    let data = data(settings, offset)?;
    let flags = settings.set | MountFlags::RDONLY;
    Ok(rustix::mount::mount(source, directory, "erofs", flags, data.as_c_str())?)
}

/// The data argument of mount(2): all options but flags.
fn data(settings: &Settings, offset: u64) -> io::Result<CString> {
    let mut options = settings.kernel.clone();
    if offset != 0 {
        options.push(format!("fsoffset={offset}"));
    }
    for device in &settings.devices {
        let device = device.canonicalize()?;
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
