//! Opens directories below the destination, and none outside of it.

use std::{
    ffi::OsStr,
    fs, io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{Dir, Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

use super::{Existing, ExtractError};

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The destination, opened once; its name is not used again.
pub(super) struct Beneath {
    root: OwnedFd,
    path: PathBuf,
    /// Whether the kernel has `openat2`, which resolves a whole path and refuses symbolic links in it.
    resolves: AtomicBool,
}

impl Beneath {
    /// Bytes of the longest path that is passed to one system call; the kernel takes 4096 with the NUL.
    const PATH_MAX: usize = 4000;

    /// Opens the destination, which is created if it doesn't exist, and returns whether it was created. Its own path may
    /// contain symbolic links.
    pub(super) fn open(path: &Path, existing: Existing) -> Result<(Self, bool), ExtractError> {
        let error = |action| {
            let path = path.to_owned();
            move |source| ExtractError::Io { path, action, source }
        };
        let is_new = make(path).map_err(error("create"))?;
        let file = fs::File::open(path).map_err(error("open"))?;
        if existing == Existing::Refuse && !is_empty(&file).map_err(error("read"))? {
            return Err(ExtractError::NotEmpty(path.to_owned()));
        }
        let beneath =
            Self { root: file.into(), path: path.to_owned(), resolves: AtomicBool::new(true) };
        Ok((beneath, is_new))
    }

    /// Where in the destination a path of the tree is, for messages.
    pub(super) fn destination_of(&self, path: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(path))
    }

    /// Opens the directory at a path of the tree.
    ///
    /// # Errors
    /// That of the kernel, also if a name in the path is not a directory itself.
    pub(super) fn open_directory(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        if path.is_empty() {
            return openat(&self.root, ".", DIRECTORY, Mode::empty());
        }
        let (first, mut rest) = split_path(path, Self::PATH_MAX);
        let mut directory = self.open_below(self.root.as_fd(), first)?;
        while !rest.is_empty() {
            let (next, after) = split_path(rest, Self::PATH_MAX);
            directory = self.open_below(directory.as_fd(), next)?;
            rest = after;
        }
        Ok(directory)
    }

    fn open_below(&self, directory: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
        if self.resolves.load(Ordering::Relaxed) {
            match open_resolving(directory, path) {
                // Kernels before 5.6, and sandboxes that don't know the call.
                Err(Errno::NOSYS | Errno::PERM) => self.resolves.store(false, Ordering::Relaxed),
                result => return result,
            }
        }
        open_each(directory, path)
    }
}

/// Creates a directory and those above it; false if it exists.
fn make(path: &Path) -> io::Result<bool> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs::create_dir_all(parent)?,
        _ => {}
    }
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_empty(directory: &fs::File) -> io::Result<bool> {
    for entry in Dir::read_from(directory)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Cuts a path at a slash so that the first part has at most `limit` bytes, or is a single name.
fn split_path(path: &[u8], limit: usize) -> (&[u8], &[u8]) {
    if path.len() <= limit {
        return (path, &[]);
    }
    let is_slash = |byte: &u8| *byte == b'/';
    let (within_limit, _) = path.split_at(limit);
    let cut = within_limit.iter().rposition(is_slash);
    let cut = cut.or_else(|| path.iter().position(is_slash));
    let (first, rest) = path.split_at(cut.unwrap_or(path.len()));
    (first, rest.strip_prefix(b"/").unwrap_or(rest))
}

fn open_resolving(directory: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(directory, path, DIRECTORY, Mode::empty(), resolve)
}

/// Opens one name after the other; a name is never `..`, and a symbolic link is refused.
fn open_each(directory: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut at = None;
    for name in path.split(|byte| *byte == b'/') {
        let from = at.as_ref().map_or(directory, OwnedFd::as_fd);
        at = Some(openat(from, name, DIRECTORY, Mode::empty())?);
    }
    at.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn beneath(path: &Path) -> Beneath {
        Beneath::open(path, Existing::Overwrite).unwrap().0
    }

    #[test]
    fn paths_are_cut_at_slashes() {
        assert_eq!(split_path(b"ab/cd/ef", 8), (&b"ab/cd/ef"[..], &b""[..]));
        assert_eq!(split_path(b"ab/cd/ef", 7), (&b"ab/cd"[..], &b"ef"[..]));
        assert_eq!(split_path(b"ab/cd/ef", 5), (&b"ab"[..], &b"cd/ef"[..]));
        assert_eq!(split_path(b"abcdef/g", 3), (&b"abcdef"[..], &b"g"[..]));
        assert_eq!(split_path(b"abcdef", 3), (&b"abcdef"[..], &b""[..]));
    }

    #[test]
    fn symbolic_links_in_a_path_are_refused() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("in/a/b")).unwrap();
        fs::create_dir_all(place.path().join("out/b")).unwrap();
        let inside = place.path().join("in");
        symlink("../out", inside.join("link")).unwrap();
        symlink("a", inside.join("harmless")).unwrap();
        let beneath = beneath(&inside);
        for resolves in [true, false] {
            beneath.resolves.store(resolves, Ordering::Relaxed);
            beneath.open_directory(b"").unwrap();
            beneath.open_directory(b"a/b").unwrap();
            for path in [&b"link"[..], b"link/b", b"harmless/b", b"none", b"a/b/c"] {
                assert!(beneath.open_directory(path).is_err(), "{path:?}");
            }
        }
    }

    #[test]
    fn paths_may_be_longer_than_the_kernel_takes() {
        let place = tempfile::tempdir().unwrap();
        let beneath = beneath(place.path());
        let name = "x".repeat(250);
        let mut directory = beneath.open_directory(b"").unwrap();
        for _ in 0..40 {
            rustix::fs::mkdirat(&directory, &name, Mode::RWXU).unwrap();
            directory = openat(&directory, &name, DIRECTORY, Mode::empty()).unwrap();
        }
        let path = vec![name.as_bytes(); 40].join(&b'/');
        for resolves in [true, false] {
            beneath.resolves.store(resolves, Ordering::Relaxed);
            beneath.open_directory(&path).unwrap();
        }
    }
}
