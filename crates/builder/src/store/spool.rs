//! Defines [`Spool`], which keeps inline tails and index tables until their inodes are placed.
//!
//! They are written and read again in the same order, so they are stored end to end: in memory as long as they are few,
//! beyond that in an unnamed file beside the image.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{BuildError, temporary::Temporary};

/// A range of bytes in a spool.
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
    file: Option<Temporary>,
    /// Bytes after those.
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
            self.flush()?;
        }
        self.recent.extend_from_slice(bytes);
        let len = u32::try_from(bytes.len()).map_err(|_too_large| self.too_large())?;
        Ok(Spooled { start, len })
    }

    /// Reads kept bytes into `buf`.
    pub(crate) fn read(&self, range: Spooled, buf: &mut Vec<u8>) -> Result<(), BuildError> {
        let len = range.len as usize;
        buf.clear();
        if let Some(recent) = range.start.checked_sub(self.flushed) {
            let start = usize::try_from(recent).expect("recent bytes are in memory");
            let kept = self.recent.get(start..).and_then(|recent| recent.get(..len));
            buf.extend_from_slice(kept.expect("a range is read from the spool that returned it"));
            return Ok(());
        }
        buf.resize(len, 0);
        let file = self.file.as_ref().expect("bytes that were flushed are in a file");
        file.read_exact_at(buf, range.start)
    }

    fn flush(&mut self) -> Result<(), BuildError> {
        if self.recent.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(Temporary::new(&self.directory)?),
        };
        file.write_all_at(&self.recent, self.flushed)?;
        self.flushed += self.recent.len() as u64;
        self.recent.clear();
        Ok(())
    }

    fn too_large(&self) -> BuildError {
        let source = io::ErrorKind::FileTooLarge.into();
        BuildError::Temporary { directory: self.directory.clone(), source }
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
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let mut spool = Spool::new(&missing, 1);
        spool.push(b"a").unwrap();
        let error = spool.push(b"bc").unwrap_err();
        assert!(error.to_string().contains(missing.to_str().unwrap()), "{error}");
    }
}
