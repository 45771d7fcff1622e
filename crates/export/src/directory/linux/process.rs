//! Determines which attributes a new file has already, from the process and the directory it is made in.

use std::{fs, os::fd::BorrowedFd};

use rustix::{
    fs::{fgetxattr, fstat},
    io::Errno,
    process::{getegid, geteuid},
};

use super::{ExtractOptions, Owners, Permissions};

/// The xattr of a directory's default ACL.
pub(super) const DEFAULT_ACL: &str = "system.posix_acl_default";

/// The attributes of the extracting process that affect new files.
pub(super) struct Process {
    uid: u32,
    gid: u32,
    /// `None` if it is unknown: a system call only returns it when it changes it.
    pub(super) umask: Option<u16>,
    pub(super) sets_owners: bool,
    pub(super) masks: bool,
}

impl Process {
    pub(super) fn new(options: &ExtractOptions) -> Self {
        let uid = geteuid().as_raw();
        Self {
            uid,
            gid: getegid().as_raw(),
            umask: umask(),
            sets_owners: match options.owners {
                Owners::Auto => uid == 0,
                Owners::Keep => true,
                Owners::Own => false,
            },
            masks: options.permissions == Permissions::Masked,
        }
    }

    /// The certain attributes of a file created with `mode`.
    pub(super) fn certain(&self, mode: u16, inheritance: Inheritance) -> Certain {
        let Inheritance { is_own, gives_acl } = inheritance;
        let keeps_mode = is_own && !gives_acl && mode & self.umask.unwrap_or(0o777) == 0;
        Certain {
            mode: keeps_mode.then_some(mode),
            owner: is_own.then_some((self.uid, self.gid)),
            has_no_acl: !gives_acl,
        }
    }
}

fn umask() -> Option<u16> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    u16::from_str_radix(value?.trim(), 8).ok()
}

/// Attributes that a new file certainly has, so that they need not be set.
#[derive(Clone, Copy, Default)]
pub(super) struct Certain {
    pub(super) mode: Option<u16>,
    /// User and group.
    pub(super) owner: Option<(u32, u32)>,
    pub(super) has_no_acl: bool,
}

/// What files inherit from the directory in which they are made.
#[derive(Clone, Copy)]
pub(super) struct Inheritance {
    /// Whether they get the process's own user and group.
    is_own: bool,
    /// Whether they may get an ACL.
    gives_acl: bool,
}

impl Inheritance {
    pub(super) fn of(directory: BorrowedFd<'_>, process: &Process) -> Self {
        let is_own = fstat(directory)
            .is_ok_and(|status| status.st_uid == process.uid && status.st_gid == process.gid);
        let mut none = [0_u8; 0];
        let acl = fgetxattr(directory, DEFAULT_ACL, &mut none);
        let gives_acl = !matches!(acl, Err(Errno::NODATA | Errno::NOTSUP));
        Self { is_own, gives_acl }
    }
}
