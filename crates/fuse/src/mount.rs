//! Mounts a FUSE connection, and raises its read-ahead.

use std::{
    ffi::CString,
    fs::File,
    io::{self, IoSliceMut, Write},
    mem::MaybeUninit,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
    process::{Command, Stdio},
};

use rustix::{
    fs::{AtFlags, CWD, StatxFlags, statx},
    io::{Errno, FdFlags, fcntl_setfd},
    mount::{MountFlags, mount as kernel_mount},
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags,
        SocketType, recvmsg, socketpair,
    },
    process::{getegid, geteuid},
};

use crate::options::Options;

/// The kind of filesystem in the list of mounts, after `fuse.`.
const SUBTYPE: &str = "lith";

/// The default source in the list of mounts.
const SOURCE: &str = "lith";

/// The program that mounts for users who may not mount.
const HELPER: &str = "fusermount3";

/// KiB that the kernel reads ahead of a sequential reader, instead of its default 128: four of the
/// largest requests, so that some are decoded while others are copied.
const READ_AHEAD_KIB: u32 = 4096;

/// Mounts at `directory`; returns the connection that requests arrive on.
///
/// # Errors
/// The kernel's, or without the right to mount those of the program `fusermount3`.
pub(crate) fn mount(directory: &Path, options: &Options) -> io::Result<OwnedFd> {
    match directly(directory, options) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            by_helper(directory, options)
        }
        mounted => mounted,
    }
}

/// Opens the file with the read-ahead of the mount at `directory`; `None` without the right to write it.
pub(crate) fn read_ahead_file(directory: &Path) -> Option<File> {
    // DONT_SYNC: without a request, since no thread answers yet.
    let found = statx(CWD, directory, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE).ok()?;
    let (major, minor) = (found.stx_dev_major, found.stx_dev_minor);
    let file = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    File::options().write(true).open(file).ok()
}

/// Raises the read-ahead, once the connection has begun: its beginning sets it.
pub(crate) fn raise_read_ahead(mut file: &File) -> bool {
    file.write_all(READ_AHEAD_KIB.to_string().as_bytes()).is_ok()
}

fn directly(directory: &Path, options: &Options) -> io::Result<OwnedFd> {
    let device = OwnedFd::from(File::options().read(true).write(true).open("/dev/fuse")?);
    let (fd, uid, gid) = (device.as_raw_fd(), geteuid().as_raw(), getegid().as_raw());
    let mut data = vec![format!("fd={fd},rootmode=40000,user_id={uid},group_id={gid}")];
    data.extend(kernel_options(options));
    let flags = [
        (true, MountFlags::RDONLY | MountFlags::NOATIME),
        (!options.devices, MountFlags::NODEV),
        (!options.suid, MountFlags::NOSUID),
        (options.noexec, MountFlags::NOEXEC),
        (options.nosymfollow, MountFlags::NOSYMFOLLOW),
    ];
    let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).collect();
    let (kind, data) = (format!("fuse.{}", subtype(options)), CString::new(data.join(","))?);
    let source = options.source.as_deref().unwrap_or(SOURCE);
    kernel_mount(source, directory, kind, flags, data.as_c_str())?;
    Ok(device)
}

/// The mount options of the kernel's FUSE that are not flags.
fn kernel_options(options: &Options) -> Vec<String> {
    let mut data = vec!["default_permissions".to_owned()];
    // If only root is allowed, the session refuses the others.
    data.extend((options.allow_other || options.allow_root).then(|| "allow_other".to_owned()));
    data.extend(options.max_read.map(|bytes| format!("max_read={bytes}")));
    data
}

fn subtype(options: &Options) -> &str {
    options.subtype.as_deref().unwrap_or(SUBTYPE)
}

fn by_helper(directory: &Path, options: &Options) -> io::Result<OwnedFd> {
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    fcntl_setfd(&theirs, FdFlags::empty())?;
    let mut command = Command::new(HELPER);
    command.env("_FUSE_COMMFD", theirs.as_raw_fd().to_string());
    command.args(["-o", &helper_options(options), "--"]).arg(directory).stdin(Stdio::null());
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other(format!(
            "only root mounts without {HELPER}, which is not installed; the package fuse3 has it"
        )),
        _ => error,
    })?;
    drop(theirs);
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(message.trim().to_owned()));
    }
    receive(&ours)
}

fn helper_options(options: &Options) -> String {
    let source = options.source.as_deref().unwrap_or(SOURCE);
    let escaped = |text: &str| text.replace('\\', "\\\\").replace(',', "\\,");
    let (kind, source) = (escaped(subtype(options)), escaped(source));
    let mut data =
        vec!["ro,noatime".to_owned(), format!("subtype={kind}"), format!("fsname={source}")];
    data.extend(kernel_options(options));
    data.extend(options.noexec.then(|| "noexec".to_owned()));
    data.extend(options.nosymfollow.then(|| "nosymfollow".to_owned()));
    data.join(",")
}

/// The descriptor that the helper sends.
fn receive(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let sent = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    sent.ok_or_else(|| Errno::BADMSG.into())
}
