//! Sets the owner, xattrs, mode and time of a new file, with as few system calls as possible.

use std::os::fd::{AsRawFd, BorrowedFd};

use lith_tree::{Inode, Kind, Timestamp, Xattr};
use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags, chmod,
        chownat, fchmod, fchown, fremovexattr, fsetxattr, futimens, lremovexattr, lsetxattr,
        openat, utimensat,
    },
    io::Errno,
};

use super::{
    ExtractError,
    extraction::{Extraction, join},
    process::{Certain, DEFAULT_ACL},
};
use crate::What;

const ACCESS_ACL: &str = "system.posix_acl_access";

/// The mode with which a file is created. A file with xattrs stays writable until these are set.
pub(super) const fn mode_at_first(inode: &Inode, xattrs: &[Xattr]) -> u16 {
    match xattrs {
        [] => inode.metadata.permissions & 0o777,
        _ => 0o600,
    }
}

/// A new file, as system calls that set attributes take it.
#[derive(Clone, Copy)]
pub(super) enum Handle<'a> {
    /// Its open descriptor.
    Open(BorrowedFd<'a>),
    /// Its name in an open directory; a symbolic link is not followed.
    Named(BorrowedFd<'a>, &'a [u8]),
}

impl Handle<'_> {
    fn set_owner(self, uid: u32, gid: u32) -> Result<(), Errno> {
        // The kernel takes the highest number as "don't change".
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

/// A path to a name in an open directory. The system calls for xattrs that take directory and name came with Linux 6.13.
fn path_through_proc(directory: BorrowedFd<'_>, name: &[u8]) -> Vec<u8> {
    let directory = format!("/proc/self/fd/{}/", directory.as_raw_fd());
    [directory.as_bytes(), name].concat()
}

/// Without `/proc` mounted, a path through it does not exist, which means that the operation is not supported.
fn needs_proc(result: Result<(), Errno>) -> Result<(), Errno> {
    result.map_err(|errno| match errno {
        Errno::NOENT => Errno::NOTSUP,
        errno => errno,
    })
}

/// A file whose attributes are set.
pub(super) struct Subject<'a> {
    pub(super) extraction: &'a Extraction<'a>,
    pub(super) inode: &'a Inode,
    pub(super) handle: Handle<'a>,
    /// The path of its directory in the tree.
    pub(super) parent: &'a [u8],
    /// Its name there; empty for the directory itself.
    pub(super) name: &'a [u8],
}

impl Subject<'_> {
    /// Sets all attributes except those that are `certain`.
    ///
    /// The owner comes first because setting it clears setuid and capabilities, the mode after the xattrs because they
    /// need a writable file, and the time last because all others change it.
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

    /// Sets the owner, and returns the owner that is certain afterwards.
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

    /// Removes ACLs that the file inherited from its directory. Errors don't matter: mostly there are none.
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

    /// The mode without a setuid or setgid that would grant rights of a different user than the tree's owner.
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

    /// Whether the attribute was set; one that isn't permitted is skipped.
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
            Err(errno) => Err(self.extraction.error(action, &self.path(), errno)),
        }
    }

    fn skip(&self, what: What, errno: Option<Errno>) {
        let path = self.path();
        let cause = errno.map(Into::into);
        self.extraction.counter.skipped(&path, what, cause);
    }

    fn path(&self) -> Vec<u8> {
        if self.name.is_empty() { self.parent.to_vec() } else { join(self.parent, self.name) }
    }
}

/// Whether the process is not permitted an operation, or the filesystem doesn't support it.
pub(super) const fn is_refusal(errno: Errno) -> bool {
    matches!(errno, Errno::PERM | Errno::ACCESS | Errno::NOTSUP | Errno::INVAL)
}

/// Whether an xattr is too large for the filesystem; some report that as a full disk.
const fn is_unfit(errno: Errno) -> bool {
    matches!(errno, Errno::NOSPC | Errno::TOOBIG | Errno::RANGE)
}
