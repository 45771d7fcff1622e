//! Opens files below a directory by paths of any length, without following symbolic links.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    io::{Errno, Result},
};

use crate::limits::PATH_MAX;

/// The flags by which directories are opened to be listed.
pub(super) const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

const PASS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directory at which paths start.
#[derive(Debug)]
pub(super) struct Root {
    fd: OwnedFd,
    path: PathBuf,
    /// Whether the kernel has `openat2`, which checks a whole path for symbolic links (Linux 5.6, not in every sandbox).
    /// Otherwise names are opened one by one.
    whole_paths: bool,
}

impl Root {
    /// Opens the directory at `path`, which may contain symbolic links.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let fd = openat(CWD, path, LIST, Mode::empty())?;
        let probe = openat2(&fd, ".", PASS, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        Ok(Self { whole_paths: probe.is_ok(), path: path.to_owned(), fd })
    }

    /// Opens the file at `path`, names from the root on, empty for the root itself.
    pub(super) fn open_beneath(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd> {
        let mut above = None;
        let mut rest = path;
        loop {
            let (part, after) = first_part(rest, self.whole_paths);
            let at = above.as_ref().map_or(self.fd.as_fd(), OwnedFd::as_fd);
            let Some(after) = after else {
                return self.open_part(at, part, flags);
            };
            above = Some(self.open_part(at, part, PASS)?);
            rest = after;
        }
    }

    fn open_part(&self, at: BorrowedFd<'_>, part: &[u8], flags: OFlags) -> Result<OwnedFd> {
        let part = if part.is_empty() { b"." } else { part };
        loop {
            let opened = if self.whole_paths {
                openat2(at, part, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
            } else {
                openat(at, part, flags | OFlags::NOFOLLOW, Mode::empty())
            };
            if opened.as_ref().err() != Some(&Errno::INTR) {
                return opened;
            }
        }
    }

    /// The root's own path, as it was given.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the file at `path` below the root, for messages.
    pub(super) fn full_path(&self, path: &[u8]) -> PathBuf {
        if path.is_empty() {
            return self.path.clone();
        }
        self.path.join(OsStr::from_bytes(path))
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Splits off as much of a path as one system call takes. Also returns the rest; `None` if that was the whole path.
fn first_part(path: &[u8], whole_paths: bool) -> (&[u8], Option<&[u8]>) {
    let slash = |byte: &u8| *byte == b'/';
    let cut = if !whole_paths {
        path.iter().position(slash)
    } else if path.len() < PATH_MAX {
        None
    } else {
        let (start, _) = path.split_at(PATH_MAX);
        start.iter().rposition(slash)
    };
    cut.and_then(|cut| Some((path.get(..cut)?, Some(path.get(cut + 1..)?)))).unwrap_or((path, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_are_split_at_slashes() {
        assert_eq!(first_part(b"a/b", true), (&b"a/b"[..], None));
        assert_eq!(first_part(b"a/b", false), (&b"a"[..], Some(&b"b"[..])));
        assert_eq!(first_part(b"", true), (&b""[..], None));
        let long = [&[b'x'; 250][..]; 40].join(&b'/');
        let mut rest = &long[..];
        let mut parts = Vec::new();
        while let (part, Some(after)) = first_part(rest, true) {
            assert!(part.len() < PATH_MAX && part.len() > PATH_MAX - 256);
            parts.push(part);
            rest = after;
        }
        parts.push(rest);
        assert_eq!(parts.join(&b'/'), long);
    }

    #[test]
    fn symbolic_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::fs::write(dir.path().join("real/f"), "x").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        let mut root = Root::open(dir.path()).unwrap();
        for whole_paths in [true, false] {
            root.whole_paths = whole_paths;
            assert!(root.open_beneath(b"real/f", OFlags::RDONLY).is_ok());
            let refused = root.open_beneath(b"link/f", OFlags::RDONLY).unwrap_err();
            assert!(matches!(refused, Errno::LOOP | Errno::NOTDIR));
        }
    }
}
