//! How does a file get its owner, xattrs, mode and time, with no more calls than it needs?

use std::{
    fs,
    os::fd::{AsRawFd, BorrowedFd},
};

use lith_tree::{Inode, Kind, Timestamp, Xattr};
use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags, chmod,
        chownat, fchmod, fchown, fgetxattr, fremovexattr, fsetxattr, fstat, futimens, lremovexattr,
        lsetxattr, openat, utimensat,
    },
    io::Errno,
    process::{getegid, geteuid},
};

use super::{ExtractError, ExtractOptions, Extraction, Owners, Permissions};
use crate::What;

/// What the extracting process is and does to files it makes.
pub(super) struct Process {
    uid: u32,
    gid: u32,
    /// None where it can't be told without changing it.
    umask: Option<u16>,
    sets_owners: bool,
    masks: bool,
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
}

fn umask() -> Option<u16> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    u16::from_str_radix(value?.trim(), 8).ok()
}

/// What is certain about a file that was just made, so that it need not be set.
#[derive(Clone, Copy, Default)]
pub(super) struct Certain {
    mode: Option<u16>,
    owner: Option<(u32, u32)>,
    has_no_acl: bool,
}

/// What a directory does to files made in it.
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

impl Process {
    /// What is certain about a file made with `mode`.
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

const ACCESS_ACL: &str = "system.posix_acl_access";
const DEFAULT_ACL: &str = "system.posix_acl_default";

/// The mode that a file is made with. One that has xattrs is kept writable until these are set.
pub(super) const fn mode_at_first(inode: &Inode, xattrs: &[Xattr]) -> u16 {
    match xattrs {
        [] => inode.metadata.permissions & 0o777,
        _ => 0o600,
    }
}

/// A file that was made, by what its attributes are set through.
#[derive(Clone, Copy)]
pub(super) enum Handle<'a> {
    /// Open.
    Open(BorrowedFd<'a>),
    /// Named in an open directory, and never followed if it is a symbolic link.
    Named(BorrowedFd<'a>, &'a [u8]),
}

impl Handle<'_> {
    fn set_owner(self, uid: u32, gid: u32) -> Result<(), Errno> {
        // The kernel takes the highest number as "leave as it is".
        if uid == u32::MAX || gid == u32::MAX {
            return Err(Errno::INVAL);
        }
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        match self {
            Self::Open(file) => fchown(file, uid, gid),
            Self::Named(at, name) => chownat(at, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW),
        }
    }

    fn set_xattr(self, xattr: &Xattr) -> Result<(), Errno> {
        let Xattr { name, value } = xattr;
        match self {
            Self::Open(file) => fsetxattr(file, &**name, value, XattrFlags::empty()),
            Self::Named(at, file) => {
                let path = path_through_proc(at, file);
                needs_proc(lsetxattr(path, &**name, value, XattrFlags::empty()))
            }
        }
    }

    fn remove_xattr(self, name: &str) -> Result<(), Errno> {
        match self {
            Self::Open(file) => fremovexattr(file, name),
            Self::Named(at, file) => lremovexattr(path_through_proc(at, file), name),
        }
    }

    fn set_mode(self, mode: u16) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(mode.into());
        match self {
            Self::Open(file) => fchmod(file, mode),
            Self::Named(at, name) => {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(at, name, flags, Mode::empty())?;
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                needs_proc(chmod(path, mode))
            }
        }
    }

    fn set_mtime(self, mtime: Timestamp) -> Result<(), Errno> {
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: mtime.sec, tv_nsec: mtime.nsec.into() },
        };
        match self {
            Self::Open(file) => futimens(file, &times),
            Self::Named(at, name) => utimensat(at, name, &times, AtFlags::SYMLINK_NOFOLLOW),
        }
    }
}

/// A path to a name in an open directory. The calls for xattrs that take both are newer than most kernels.
fn path_through_proc(directory: BorrowedFd<'_>, name: &[u8]) -> Vec<u8> {
    let directory = format!("/proc/self/fd/{}/", directory.as_raw_fd());
    [directory.as_bytes(), name].concat()
}

/// Where `/proc` is not mounted, what goes through it can't be had.
fn needs_proc(result: Result<(), Errno>) -> Result<(), Errno> {
    result.map_err(|errno| match errno {
        Errno::NOENT => Errno::NOTSUP,
        errno => errno,
    })
}

/// A file that gets its attributes.
pub(super) struct Subject<'a> {
    pub(super) extraction: &'a Extraction<'a>,
    pub(super) inode: &'a Inode,
    pub(super) handle: Handle<'a>,
    /// The path of its directory, and its name there.
    pub(super) path: (&'a [u8], &'a [u8]),
}

impl Subject<'_> {
    /// Sets all attributes, but for those that are `certain`.
    ///
    /// The owner comes first since setting it clears setuid and capabilities, the mode after the xattrs since they
    /// need a writable file, and the time last.
    pub(super) fn set_all(&self, certain: Certain) -> Result<(), ExtractError> {
        let owner = self.set_owner(certain.owner)?;
        let is_symlink = matches!(self.inode.kind, Kind::Symlink(_));
        if !certain.has_no_acl && !is_symlink && self.extraction.options.xattrs {
            self.remove_acls();
        }
        self.set_xattrs()?;
        if !is_symlink {
            self.set_mode(owner, certain.mode)?;
        }
        let result = self.handle.set_mtime(self.inode.metadata.mtime);
        self.check(result, What::Mtime, "set the time of")?;
        Ok(())
    }

    /// Sets the owner and says which one it certainly is then.
    fn set_owner(&self, certain: Option<(u32, u32)>) -> Result<Option<(u32, u32)>, ExtractError> {
        let (uid, gid) = (self.inode.metadata.uid, self.inode.metadata.gid);
        let wanted = Some((uid, gid));
        if !self.extraction.process.sets_owners || certain == wanted {
            return Ok(certain);
        }
        let result = self.handle.set_owner(uid, gid);
        let done = self.check(result, What::Owner, "set the owner of")?;
        Ok(if done { wanted } else { certain })
    }

    /// Takes away what a file may have from the directory that it was made in. Mostly there is nothing.
    fn remove_acls(&self) {
        _ = self.handle.remove_xattr(ACCESS_ACL);
        if self.inode.as_directory().is_some() {
            _ = self.handle.remove_xattr(DEFAULT_ACL);
        }
    }

    fn set_xattrs(&self) -> Result<(), ExtractError> {
        for xattr in self.extraction.xattrs(self.inode) {
            let what = || What::Xattr(xattr.name.clone());
            match self.handle.set_xattr(xattr) {
                Ok(()) => {}
                Err(errno) if is_unfit(errno) => self.skip(what(), Some(errno)),
                result => _ = self.check(result, what(), "set an xattr of")?,
            }
        }
        Ok(())
    }

    fn set_mode(
        &self,
        owner: Option<(u32, u32)>,
        certain: Option<u16>,
    ) -> Result<(), ExtractError> {
        let wanted = self.wanted_mode();
        let mode = self.safe_mode(wanted, owner);
        if mode != wanted {
            self.skip(What::SetId, None);
        }
        if certain == Some(mode) {
            return Ok(());
        }
        let result = self.handle.set_mode(mode);
        self.check(result, What::Mode, "set the mode of").map(|_done| ())
    }

    fn wanted_mode(&self) -> u16 {
        let process = &self.extraction.process;
        let mask = if process.masks { process.umask.unwrap_or(0o022) } else { 0 };
        self.inode.metadata.permissions & !mask
    }

    /// The mode without a setuid or setgid that would lend the rights of another than the tree's owner.
    fn safe_mode(&self, mode: u16, owner: Option<(u32, u32)>) -> u16 {
        let metadata = &self.inode.metadata;
        if matches!(self.inode.kind, Kind::Directory(_)) {
            return mode;
        }
        let lends_user = owner.is_none_or(|(uid, _)| uid != metadata.uid);
        let lends_group = owner.is_none_or(|(_, gid)| gid != metadata.gid);
        let unsafe_bits = (u16::from(lends_user) << 11) | (u16::from(lends_group) << 10);
        mode & !unsafe_bits
    }

    /// Whether it was done; what isn't permitted is skipped.
    fn check(
        &self,
        result: Result<(), Errno>,
        what: What,
        action: &'static str,
    ) -> Result<bool, ExtractError> {
        match result {
            Ok(()) => Ok(true),
            Err(errno) if is_refusal(errno) => {
                self.skip(what, Some(errno));
                Ok(false)
            }
            Err(errno) => Err(self.extraction.error(action, &self.whole_path(), errno)),
        }
    }

    fn skip(&self, what: What, errno: Option<Errno>) {
        let path = self.whole_path();
        let cause = errno.map(Into::into);
        self.extraction.counter.skipped(&path, what, cause);
    }

    fn whole_path(&self) -> Vec<u8> {
        super::join(self.path.0, self.path.1)
    }
}

/// Whether the process is not permitted what it asked for, or the filesystem has no such thing.
pub(super) const fn is_refusal(errno: Errno) -> bool {
    matches!(errno, Errno::PERM | Errno::ACCESS | Errno::NOTSUP | Errno::INVAL)
}

/// Whether an xattr is too large for the filesystem, which says so in the words of a full disk.
const fn is_unfit(errno: Errno) -> bool {
    matches!(errno, Errno::NOSPC | Errno::TOOBIG | Errno::RANGE)
}

impl Extraction<'_> {
    /// The xattrs that a file gets.
    pub(super) fn xattrs(&self, inode: &Inode) -> &[Xattr] {
        if self.options.xattrs { self.fs.tree.xattrs.get(inode.metadata.xattrs) } else { &[] }
    }
}
