//! How is a file below a directory reached, and nothing outside of it?
//!
//! Defines [`Root`], which opens files by paths of any length, and follows no symbolic link in them.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod ladder;

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    io::{Errno, Result},
};

use ladder::{Ladder, STEP};

/// The flags by which directories are opened to be listed, and files to be made in them.
pub const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

const PASS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directory at which paths start. It is opened once, and its name not used again.
#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    path: PathBuf,
    resolve: ResolveFlags,
    /// Whether the kernel has `openat2`, which checks a whole path for symbolic links (Linux 5.6, not in every sandbox).
    /// Otherwise names are opened one by one.
    whole_paths: bool,
    ladder: Mutex<Ladder>,
}

impl Root {
    /// Opens the directory at `path`, which may contain symbolic links.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn open(path: &Path) -> Result<Self> {
        let fd = openat(CWD, path, LIST, Mode::empty())?;
        let resolve = ResolveFlags::NO_SYMLINKS;
        let whole_paths = openat2(&fd, ".", PASS, Mode::empty(), resolve).is_ok();
        let (path, ladder) = (path.to_owned(), Mutex::default());
        Ok(Self { fd, path, resolve, whole_paths, ladder })
    }

    /// The same root, but the kernel also refuses what is outside of it, if it has `openat2`.
    #[must_use]
    pub fn confined(self) -> Self {
        Self { resolve: self.resolve | ResolveFlags::BENEATH, ..self }
    }

    /// Opens the file at `path`, names from the root on, empty for the root itself.
    ///
    /// # Errors
    /// Those of the kernel, also if a name in the path is a symbolic link.
    pub fn open_beneath(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd> {
        if path.len() <= STEP {
            return self.open_from(self.fd.as_fd(), path, flags);
        }
        let open_above =
            |from: Option<&OwnedFd>, part: &[u8]| self.open_from(self.or_root(from), part, PASS);
        let mut ladder = self.ladder.lock().unwrap_or_else(PoisonError::into_inner);
        let (above, rest) = ladder.climb(path, open_above)?;
        drop(ladder);
        self.open_from(self.or_root(above.as_deref()), rest, flags)
    }

    fn or_root<'a>(&'a self, directory: Option<&'a OwnedFd>) -> BorrowedFd<'a> {
        directory.unwrap_or(&self.fd).as_fd()
    }

    /// Opens the file at a path from a directory, of at most a step or one name.
    fn open_from(&self, at: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd> {
        if self.whole_paths {
            let path = if path.is_empty() { b"." } else { path };
            return again(|| openat2(at, path, flags, Mode::empty(), self.resolve));
        }
        let mut above = None;
        let mut names = path.split(|byte| *byte == b'/').peekable();
        loop {
            let name = names.next().filter(|name| !name.is_empty()).unwrap_or(b".");
            let is_last = names.peek().is_none();
            let flags = if is_last { flags } else { PASS } | OFlags::NOFOLLOW;
            let at = above.as_ref().map_or(at, OwnedFd::as_fd);
            let fd = again(|| openat(at, name, flags, Mode::empty()))?;
            if is_last {
                return Ok(fd);
            }
            above = Some(fd);
        }
    }

    /// The root's own path, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the file at `path` below the root, for messages.
    #[must_use]
    pub fn full_path(&self, path: &[u8]) -> PathBuf {
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

/// Opens again as long as a signal interrupts it.
fn again(open: impl Fn() -> Result<OwnedFd>) -> Result<OwnedFd> {
    loop {
        let opened = open();
        if opened.as_ref().err() != Some(&Errno::INTR) {
            return opened;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::mkdirat;

    use super::*;

    /// A root with `openat2`, and one without.
    fn roots(path: &Path) -> [Root; 2] {
        let open = || Root::open(path).unwrap().confined();
        [open(), Root { whole_paths: false, ..open() }]
    }

    #[test]
    fn symbolic_links_in_a_path_are_refused() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("in/a/b")).unwrap();
        fs::create_dir_all(place.path().join("out/b")).unwrap();
        let inside = place.path().join("in");
        fs::write(inside.join("a/f"), "x").unwrap();
        symlink("../out", inside.join("link")).unwrap();
        symlink("a", inside.join("harmless")).unwrap();
        for root in roots(&inside) {
            root.open_beneath(b"", LIST).unwrap();
            root.open_beneath(b"a/b", LIST).unwrap();
            root.open_beneath(b"a/f", OFlags::RDONLY).unwrap();
            for path in [&b"link"[..], b"link/b", b"harmless/b", b"none", b"a/b/c", b"a/f"] {
                assert!(root.open_beneath(path, LIST).is_err(), "{path:?}");
            }
            let refused = root.open_beneath(b"harmless/f", OFlags::RDONLY).unwrap_err();
            assert!(matches!(refused, Errno::LOOP | Errno::NOTDIR));
        }
    }

    #[test]
    fn paths_may_be_longer_than_the_kernel_takes() {
        let place = tempfile::tempdir().unwrap();
        let name = "x".repeat(250);
        let mut directory = roots(place.path())[0].open_beneath(b"", LIST).unwrap();
        for _ in 0..40 {
            mkdirat(&directory, &name, Mode::RWXU).unwrap();
            directory = openat(&directory, &name, LIST, Mode::empty()).unwrap();
        }
        symlink(".", place.path().join("link")).unwrap();
        let path = vec![name.as_bytes(); 40].join(&b'/');
        for root in roots(place.path()) {
            for length in [40, 3, 39, 40] {
                root.open_beneath(&path[..length * 251 - 1], LIST).unwrap();
            }
            let missing = [&path[..], b"/none"].concat();
            assert_eq!(root.open_beneath(&missing, LIST).unwrap_err(), Errno::NOENT);
            let linked = [&b"link/"[..], &path].concat();
            assert!(root.open_beneath(&linked, LIST).is_err());
        }
    }
}
