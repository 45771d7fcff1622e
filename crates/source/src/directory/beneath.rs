//! How is a file below a directory opened, however long its path, without following symbolic links?

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

/// The flags that every directory is opened with to be listed.
pub(super) const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

const PASS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A directory that paths start from.
#[derive(Debug)]
pub(super) struct Root {
    fd: OwnedFd,
    path: PathBuf,
    /// Whether the kernel can check a whole path for symbolic links (Linux 5.6, not in every sandbox).
    /// Otherwise paths are gone through name by name.
    whole_paths: bool,
}

impl Root {
    /// Opens the directory at `path`, which may itself be reached by symbolic links.
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
            let (piece, behind) = first_piece(rest, self.whole_paths);
            let at = above.as_ref().map_or(self.fd.as_fd(), OwnedFd::as_fd);
            let Some(behind) = behind else {
                return self.open_piece(at, piece, flags);
            };
            above = Some(self.open_piece(at, piece, PASS)?);
            rest = behind;
        }
    }

    fn open_piece(&self, at: BorrowedFd<'_>, piece: &[u8], flags: OFlags) -> Result<OwnedFd> {
        let piece = if piece.is_empty() { b"." } else { piece };
        loop {
            let opened = if self.whole_paths {
                openat2(at, piece, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
            } else {
                openat(at, piece, flags | OFlags::NOFOLLOW, Mode::empty())
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

    /// What to call the file at `path` below the root.
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

/// Cuts off as much of a path as one system call takes, and gives what comes behind, if anything does.
fn first_piece(path: &[u8], whole_paths: bool) -> (&[u8], Option<&[u8]>) {
    let slash = |byte: &u8| *byte == b'/';
    let cut = if !whole_paths {
        path.iter().position(slash)
    } else if path.len() < PATH_MAX {
        None
    } else {
        let start = path.get(..PATH_MAX).unwrap_or(path);
        start.iter().rposition(slash)
    };
    cut.and_then(|cut| Some((path.get(..cut)?, Some(path.get(cut + 1..)?)))).unwrap_or((path, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_are_cut_at_slashes() {
        assert_eq!(first_piece(b"a/b", true), (&b"a/b"[..], None));
        assert_eq!(first_piece(b"a/b", false), (&b"a"[..], Some(&b"b"[..])));
        assert_eq!(first_piece(b"", true), (&b""[..], None));
        let long = [&[b'x'; 250][..]; 40].join(&b'/');
        let mut rest = &long[..];
        let mut pieces = Vec::new();
        while let (piece, Some(behind)) = first_piece(rest, true) {
            assert!(piece.len() < PATH_MAX && piece.len() > PATH_MAX - 256);
            pieces.push(piece);
            rest = behind;
        }
        pieces.push(rest);
        assert_eq!(pieces.join(&b'/'), long);
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
