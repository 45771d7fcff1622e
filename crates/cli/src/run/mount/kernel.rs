//! How does the kernel's own driver mount an image?

use std::{
    ffi::CString,
    fs, io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::{io::Errno, mount::MountFlags};

use crate::args::mount::{Mount, Settings};

/// Mounts it, and says from what: a block device, the file itself (Linux 6.12), or a loop device on it.
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
        // Before 6.12 a file is no source, before 6.17 an image begins where its file does, and a file on tmpfs is none.
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

/// What is no flag.
fn data(settings: &Settings, offset: u64) -> io::Result<CString> {
    let mut words = settings.kernel.clone();
    if offset != 0 {
        words.push(format!("fsoffset={offset}"));
    }
    for device in &settings.devices {
        let device = device.canonicalize()?;
        let name = device.to_str().filter(|name| !name.contains(','));
        let name = name.ok_or_else(|| io::Error::other("a device's name can't be passed on"))?;
        words.push(format!("device={name}"));
    }
    Ok(CString::new(words.join(","))?)
}

/// The program that knows loop devices. mount(8) calls without a PATH.
fn losetup() -> Command {
    let known = ["/usr/sbin/losetup", "/sbin/losetup"];
    let path = known.into_iter().find(|path| Path::new(path).exists());
    Command::new(path.unwrap_or("losetup"))
}

/// A block device on a file, that goes away with its last user.
struct LoopDevice(PathBuf);

impl LoopDevice {
    fn new(image: &Path, offset: u64) -> io::Result<Self> {
        let mut command = losetup();
        command.args(["--find", "--show", "--read-only", "--offset", &offset.to_string()]);
        let output = command.arg("--").arg(image).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(said.trim().to_owned()));
        }
        let device = Self(String::from_utf8_lossy(&output.stdout).trim().into());
        // Reading past the page cache is a gain where the file's filesystem can.
        device.losetup("--direct-io=on");
        Ok(device)
    }

    fn losetup(&self, what: &str) {
        let mut command = losetup();
        command.arg(what).arg(&self.0).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status();
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // While it is mounted, this is only a note that it may go afterwards.
        self.losetup("--detach");
    }
}
