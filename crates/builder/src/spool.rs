//! Where do inline tails and index tables wait until their inodes have a place?
//!
//! They come in one order and are wanted again in the same order, so they lie end to end: in memory as
//! long as they are few, beyond that in a file without a name beside the image.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::BuildError;

/// Bytes kept for later, by their place in the spool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spooled {
    pub(crate) start: u64,
    pub(crate) len: u32,
}

/// A sequence of bytes that grows at its end and is read at any place.
#[derive(Debug)]
pub(crate) struct Spool {
    directory: PathBuf,
    budget: usize,
    /// Bytes already in the file.
    flushed: u64,
    file: Option<File>,
    /// Bytes behind those.
    recent: Vec<u8>,
}

impl Spool {
    /// An empty spool that keeps up to `budget` bytes in memory and the others in `directory`.
    pub(crate) fn new(directory: &Path, budget: usize) -> Self {
        Self { directory: directory.to_owned(), budget, flushed: 0, file: None, recent: Vec::new() }
    }

    /// Keeps `bytes`.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Spooled, BuildError> {
        let start = self.flushed + self.recent.len() as u64;
        if self.recent.len().saturating_add(bytes.len()) > self.budget {
            self.flush().map_err(|source| self.failed(source))?;
        }
        self.recent.extend_from_slice(bytes);
        let len = u32::try_from(bytes.len())
            .map_err(|_too_large| self.failed(io::ErrorKind::FileTooLarge.into()))?;
        Ok(Spooled { start, len })
    }

    /// Gives kept bytes back, in `buf`.
    pub(crate) fn read(&self, range: Spooled, buf: &mut Vec<u8>) -> Result<(), BuildError> {
        let len = range.len as usize;
        buf.clear();
        if let Some(recent) = range.start.checked_sub(self.flushed) {
            let start = usize::try_from(recent).unwrap_or(usize::MAX);
            buf.extend_from_slice(
                self.recent.get(start..).and_then(|r| r.get(..len)).unwrap_or(&[]),
            );
            return Ok(());
        }
        buf.resize(len, 0);
        match &self.file {
            Some(file) => {
                file.read_exact_at(buf, range.start).map_err(|source| self.failed(source))
            }
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(unnamed_file(&self.directory)?),
        };
        file.write_all_at(&self.recent, self.flushed)?;
        self.flushed += self.recent.len() as u64;
        self.recent.clear();
        Ok(())
    }

    fn failed(&self, source: io::Error) -> BuildError {
        BuildError::Temporary { directory: self.directory.clone(), source }
    }
}

/// A file in `directory` that vanishes with its last descriptor, even when the process is killed.
pub(crate) fn unnamed_file(directory: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR) {
        Ok(fd) => Ok(fd.into()),
        Err(_no_tmpfile_here) => tempfile::tempfile_in(directory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_memory_and_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(dir.path(), 100);
        let kept: Vec<_> =
            (0..50u8).map(|i| spool.push(&vec![i; usize::from(i)]).unwrap()).collect();
        assert!(spool.flushed > 0 && !spool.recent.is_empty());
        let mut buf = Vec::new();
        for (i, range) in (0..50u8).zip(kept) {
            spool.read(range, &mut buf).unwrap();
            assert_eq!(buf, vec![i; usize::from(i)]);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn failure_names_the_directory() {
        let mut spool = Spool::new(Path::new("/nonexistent"), 1);
        spool.push(b"a").unwrap();
        let error = spool.push(b"bc").unwrap_err();
        assert!(error.to_string().contains("/nonexistent"), "{error}");
    }
}
