//! Defines [`Mounting`]: a file of the cache that is to be mounted.

use std::{
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::mpsc::Sender,
};

use lith_fanotify::{Group, Place, attach, reports_metadata};
use rustix::{
    fs::CWD,
    mount::{MoveMountFlags, move_mount},
};

use crate::{
    args::mount::{Mount, Settings},
    output::address::shown,
    run::mount::kernel,
};

/// What a thread needs to mount a file.
pub(super) struct Mounting {
    file: PathBuf,
    name: PathBuf,
    settings: Settings,
}

impl Mounting {
    pub(super) fn new(request: &Mount, settings: &Settings, file: &Path) -> Self {
        let name = settings.source.as_ref().map(PathBuf::from);
        let name = name.unwrap_or_else(|| shown(&request.image.image).into());
        Self { file: file.to_owned(), name, settings: settings.clone() }
    }

    /// Mounts it in a mount namespace of its own.
    pub(super) fn run(&self, watched: Option<Sender<Group>>) -> io::Result<OwnedFd> {
        attach(&self.place(), watched, |file, directory| self.mount_at(file, directory))
    }

    /// Whether the kernel tells when it reads metadata.
    pub(super) fn reports_metadata(&self) -> io::Result<bool> {
        let mount_at = |file: &Path, directory: &Path| self.mount_at(file, directory);
        reports_metadata(self.place(), self.first(), mount_at)
    }

    /// The position of the first bytes that the kernel reads of the image.
    pub(super) const fn first(&self) -> u64 {
        self.settings.offset
    }

    fn place(&self) -> Place<'_> {
        Place { file: &self.file, name: &self.name }
    }

    fn mount_at(&self, file: &Path, directory: &Path) -> io::Result<()> {
        let Self { settings, .. } = self;
        let devices = &settings.devices.devices;
        kernel::mount_source((file, devices), directory, settings, settings.offset)
    }
}

/// Puts a mount into the file tree.
pub(super) fn put(mount: &OwnedFd, directory: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
    Ok(move_mount(mount, "", CWD, directory, flags)?)
}

/// The arguments of a process in some role.
pub(super) fn arguments(
    request: &Mount,
    settings: &Settings,
    (role, file): (&str, &Path),
) -> Vec<OsString> {
    let mut arguments = request.arguments(role, settings);
    arguments.splice(2..2, ["--object".into(), file.into()]);
    if let Some(inode) = &request.inode {
        arguments.splice(2..2, ["--inode".into(), inode.into()]);
    }
    arguments
}

/// How an argument names a file by device and inode.
pub(super) fn named((device, inode): (u64, u64)) -> String {
    format!("{device}:{inode}")
}

pub(super) fn panicked() -> io::Error {
    io::Error::other("a thread panicked")
}
