//! Defines [`Spool`], which stores the data of a tar that can be read only once.

use std::{
    io::{self, Read},
    path::PathBuf,
};

use super::packed::Packed;
use crate::SourceError;

/// Bytes of a reader that are stored at once.
const BUFFER: usize = 64 << 10;

/// Bytes in memory up to a budget, all further ones in a compressed file without a name, which is removed with the spool.
pub(crate) struct Spool {
    dir: PathBuf,
    budget: usize,
    memory: Vec<u8>,
    file: Option<Packed>,
    buffer: Vec<u8>,
}

/// Why data can't be added to the spool.
pub(crate) enum SpoolError {
    /// The reader failed.
    Read(io::Error),
    /// The spool can't be written.
    Write(SourceError),
}

impl Spool {
    pub(crate) const fn new(dir: PathBuf, budget: usize) -> Self {
        Self { dir, budget, memory: Vec::new(), file: None, buffer: Vec::new() }
    }

    /// The position that the next byte gets.
    pub(crate) fn end(&self) -> u64 {
        self.memory.len() as u64 + self.file.as_ref().map_or(0, Packed::length)
    }

    /// Appends up to `length` bytes and returns how many there were.
    pub(crate) fn append(&mut self, reader: &mut dyn Read, length: u64) -> Result<u64, SpoolError> {
        let taken = if self.file.is_none() { self.append_to_memory(reader, length)? } else { 0 };
        let has_ended = self.file.is_none() && self.memory.len() < self.budget;
        if taken == length || has_ended {
            return Ok(taken);
        }
        Ok(taken + self.append_to_file(reader, length - taken)?)
    }

    fn append_to_memory(&mut self, reader: &mut dyn Read, length: u64) -> Result<u64, SpoolError> {
        // Reserved memory that is not touched costs nothing; growing it step by step would copy it.
        let missing = self.budget - self.memory.len();
        if self.memory.try_reserve_exact(missing).is_err() {
            self.budget = self.memory.len();
        }
        let free = (self.budget - self.memory.len()) as u64;
        let taken = reader.take(length.min(free)).read_to_end(&mut self.memory);
        taken.map(|taken| taken as u64).map_err(SpoolError::Read)
    }

    fn append_to_file(&mut self, reader: &mut dyn Read, length: u64) -> Result<u64, SpoolError> {
        let cannot_write =
            |source| SpoolError::Write(SourceError::Spool { dir: self.dir.clone(), source });
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Packed::new(&self.dir).map_err(cannot_write)?),
        };
        self.buffer.resize(BUFFER, 0);
        let mut taken = 0;
        while taken < length {
            let want = usize::try_from(length - taken).map_or(BUFFER, |left| left.min(BUFFER));
            let (bytes, _) = self.buffer.split_at_mut(want);
            let got = fill(reader, bytes).map_err(SpoolError::Read)?;
            file.append(bytes.split_at(got).0).map_err(cannot_write)?;
            taken += got as u64;
            if got < want {
                break;
            }
        }
        Ok(taken)
    }

    /// Fills `buf` with bytes that were appended.
    pub(super) fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        let in_memory = usize::try_from(position).ok().and_then(|at| self.memory.get(at..));
        let stored = in_memory.unwrap_or_default();
        let split = stored.len().min(buf.len());
        let (first, rest) = buf.split_at_mut(split);
        first.copy_from_slice(stored.split_at(split).0);
        if rest.is_empty() {
            return Ok(());
        }
        let at = (position + split as u64).saturating_sub(self.memory.len() as u64);
        match &self.file {
            Some(file) => file.read_at(rest, at),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Frees the memory that only appending needs.
    pub(crate) fn finish(&mut self) {
        self.buffer = Vec::new();
        self.memory.shrink_to_fit();
    }
}

/// Reads until `buf` is full or the reader ends; returns how many bytes there were.
pub(crate) fn fill(reader: &mut dyn Read, buf: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buf.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_first_then_a_file_and_both_read_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let data: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        for budget in [0, 1, 1000, 299_999, 300_000, 1 << 20] {
            let mut spool = Spool::new(dir.path().into(), budget);
            let mut reader = &data[..];
            for length in [0, 7, 1500, 200_000, 98_493] {
                let at = spool.end();
                assert!(matches!(spool.append(&mut reader, length), Ok(got) if got == length));
                assert_eq!(spool.end(), at + length);
            }
            assert!(matches!(spool.append(&mut reader, 1), Ok(0)));
            spool.finish();
            for (at, length) in [(0, 300_000), (990, 20), (299_990, 10), (5, 0), (1507, 99)] {
                let mut buf = vec![0; length];
                spool.read_at(&mut buf, at as u64).unwrap();
                assert_eq!(buf, data[at..at + length]);
            }
            assert!(spool.read_at(&mut [0; 2], 299_999).is_err());
            assert_eq!(spool.file.is_some(), budget <= 300_000);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_takes_no_file_is_named() {
        let missing = tempfile::tempdir().unwrap().path().join("spool");
        let mut spool = Spool::new(missing.clone(), 0);
        let error = spool.append(&mut &b"x"[..], 1);
        let Err(SpoolError::Write(SourceError::Spool { dir, .. })) = error else {
            panic!("no spool error");
        };
        assert_eq!(dir, missing);
    }
}
