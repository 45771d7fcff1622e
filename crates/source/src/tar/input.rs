//! Where do a tar's bytes come from, and where are its members' data found later?

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use rustix::fs::fstat;

use super::{
    header::{BLOCK, Block},
    spool::{Spool, SpoolError, fill},
};
use crate::{
    SourceError,
    detect::Compression,
    open::cannot,
    seen::{Seen, size_of},
};

/// Bytes of a file that are read at once: a header, its extended headers and small data.
const WINDOW: usize = 4096;

/// Bytes that are skipped at once.
const SKIP: usize = 64 << 10;

/// Why bytes of a tar can't be had.
pub(super) enum InputError {
    /// It has no more.
    Ended,
    /// They could not be read or kept.
    Source(SourceError),
}

/// A tar, read from its beginning to its end.
pub(super) struct Input<'a> {
    path: &'a Path,
    position: u64,
    from: From<'a>,
}

enum From<'a> {
    File(FileInput),
    Stream { reader: Box<dyn Read + 'a>, compression: Option<Compression>, spool: Option<Spool> },
}

/// A file that stays where it is.
struct FileInput {
    store: FileStore,
    /// Bytes from `window_at` on.
    window: Vec<u8>,
    window_at: u64,
}

/// Where members' data are found when the tar has been read.
pub(super) enum Store {
    /// In the tar itself.
    File(FileStore),
    /// In a spool.
    Spool(Spool),
    /// In the tar, which can't be read again.
    Gone,
}

/// A tar's file.
pub(super) struct FileStore {
    file: File,
    path: PathBuf,
    /// Where in the file the tar begins.
    start: u64,
    size: u64,
    seen: Seen,
}

impl<'a> Input<'a> {
    /// A regular file, from `start` on.
    pub(super) fn file(path: &'a Path, file: File, start: u64) -> Result<Self, SourceError> {
        let attributes = fstat(&file).map_err(io::Error::from);
        let attributes = attributes.map_err(cannot("read the attributes", path))?;
        let store = FileStore {
            file,
            path: path.to_owned(),
            start,
            size: size_of(&attributes),
            seen: Seen::new(&attributes),
        };
        Ok(Self {
            path,
            position: 0,
            from: From::File(FileInput { store, window: Vec::with_capacity(WINDOW), window_at: 0 }),
        })
    }

    /// A stream that is read once; its members' data are kept in `spool`, or not at all.
    pub(super) fn stream(
        path: &'a Path,
        reader: Box<dyn Read + 'a>,
        compression: Option<Compression>,
        spool: Option<Spool>,
    ) -> Self {
        Self { path, position: 0, from: From::Stream { reader, compression, spool } }
    }

    /// Whether members' data can be had later.
    pub(super) const fn keeps_data(&self) -> bool {
        !matches!(self.from, From::Stream { spool: None, .. })
    }

    /// How many bytes have been taken.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// The next block; none if the tar ends right here.
    pub(super) fn block(&mut self) -> Result<Option<Block>, InputError> {
        let mut block = [0; BLOCK];
        match self.take(&mut block)? {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => Err(InputError::Ended),
        }
    }

    /// The next `length` bytes and the rest of their last block. Takes memory only as bytes come.
    pub(super) fn bytes(&mut self, length: u64) -> Result<Vec<u8>, InputError> {
        let mut bytes = Vec::new();
        let mut left = length;
        while left > 0 {
            let step = usize::try_from(left).unwrap_or(SKIP).min(SKIP);
            let start = bytes.len();
            bytes.resize(start + step, 0);
            let room = bytes.get_mut(start..).unwrap_or_default();
            if self.take(room)? < step {
                return Err(InputError::Ended);
            }
            left -= step as u64;
        }
        self.pad(length)?;
        Ok(bytes)
    }

    /// Keeps the next `length` bytes for later, passes the rest of their last block, and says where they are.
    pub(super) fn store(&mut self, length: u64) -> Result<u64, InputError> {
        let From::Stream { reader, compression, spool: Some(spool) } = &mut self.from else {
            let at = self.position;
            self.skip(length)?;
            return Ok(at);
        };
        let at = spool.end();
        let taken = spool.append(reader, length).map_err(|error| match error {
            SpoolError::Read(source) => {
                InputError::Source(cannot_read(self.path, *compression, source))
            }
            SpoolError::Write(error) => InputError::Source(error),
        })?;
        self.position += taken;
        if taken < length {
            return Err(InputError::Ended);
        }
        self.pad(length)?;
        Ok(at)
    }

    /// Passes `length` bytes and the rest of their last block.
    pub(super) fn skip(&mut self, length: u64) -> Result<(), InputError> {
        self.pass(length)?;
        self.pad(length)
    }

    fn pad(&mut self, length: u64) -> Result<(), InputError> {
        self.pass(length.wrapping_neg() % BLOCK as u64)
    }

    fn pass(&mut self, length: u64) -> Result<(), InputError> {
        if let From::File(file) = &self.from {
            let end = self.position.checked_add(length);
            let available = file.store.length();
            let ended = end.is_none_or(|end| end > available);
            self.position = end.unwrap_or(available).min(available);
            return if ended { Err(InputError::Ended) } else { Ok(()) };
        }
        let mut left = length;
        let mut buffer = [0; 8192];
        while left > 0 {
            let step = usize::try_from(left).unwrap_or(SKIP).min(buffer.len());
            let room = buffer.get_mut(..step).unwrap_or_default();
            if self.take(room)? < step {
                return Err(InputError::Ended);
            }
            left -= step as u64;
        }
        Ok(())
    }

    /// Reads to the end, so that whoever writes to a pipe can finish and a compressed stream's own checksum is
    /// verified. Says whether anything but zeros was left.
    pub(super) fn drain(&mut self) -> Result<bool, InputError> {
        let mut buffer = vec![0; SKIP];
        let mut found = false;
        loop {
            let got = self.take(&mut buffer)?;
            found |= buffer.iter().take(got).any(|byte| *byte != 0);
            let in_place = matches!(self.from, From::File(_));
            if got < buffer.len() || found && in_place {
                return Ok(found);
            }
        }
    }

    /// Fills `buf` as far as there are bytes.
    fn take(&mut self, buf: &mut [u8]) -> Result<usize, InputError> {
        let (got, compression) = match &mut self.from {
            From::File(file) => (file.take(buf, self.position), None),
            From::Stream { reader, compression, .. } => (fill(reader, buf), *compression),
        };
        let got =
            got.map_err(|source| InputError::Source(cannot_read(self.path, compression, source)))?;
        self.position += got as u64;
        Ok(got)
    }

    /// Where the members' data are, and how long the tar is, which was read to its end.
    pub(super) fn into_store(self) -> (Store, u64) {
        match self.from {
            From::File(file) => {
                let length = file.store.length();
                (Store::File(file.store), length)
            }
            From::Stream { spool, .. } => {
                let store = spool.map_or(Store::Gone, |mut spool| {
                    spool.finish();
                    Store::Spool(spool)
                });
                (store, self.position)
            }
        }
    }
}

impl FileInput {
    fn take(&mut self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        if buf.len() > WINDOW {
            return self.store.read(buf, position);
        }
        if self.seen_from(position).len() < buf.len() {
            self.window.resize(WINDOW, 0);
            let got = self.store.read(&mut self.window, position)?;
            self.window.truncate(got);
            self.window_at = position;
        }
        let seen = self.seen_from(position);
        let got = seen.len().min(buf.len());
        for (to, from) in buf.iter_mut().zip(seen) {
            *to = *from;
        }
        Ok(got)
    }

    /// What the window has from `position` on.
    fn seen_from(&self, position: u64) -> &[u8] {
        let start = position.checked_sub(self.window_at);
        let start = start.and_then(|start| usize::try_from(start).ok());
        start.and_then(|start| self.window.get(start..)).unwrap_or_default()
    }
}

impl FileStore {
    /// How long the tar is.
    const fn length(&self) -> u64 {
        self.size.saturating_sub(self.start)
    }

    /// Fills `buf` from `position` in the tar on as far as there are bytes.
    fn read(&self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        let left = usize::try_from(self.length().saturating_sub(position)).unwrap_or(usize::MAX);
        let length = left.min(buf.len());
        let room = buf.get_mut(..length).unwrap_or_default();
        self.file.read_exact_at(room, self.start + position)?;
        Ok(length)
    }
}

impl Store {
    /// Fills `buf` with members' data.
    pub(super) fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        match self {
            Self::File(store) => store.file.read_exact_at(buf, store.start + position),
            Self::Spool(spool) => spool.read_at(buf, position),
            Self::Gone => Err(io::ErrorKind::NotSeekable.into()),
        }
    }

    /// What is different about the tar's file since it was opened, with its path.
    pub(super) fn difference(&self) -> io::Result<Option<(&Path, String)>> {
        let Self::File(store) = self else {
            return Ok(None);
        };
        let stat = fstat(&store.file)?;
        let what = store.seen.difference(store.size, &stat);
        Ok(what.map(|what| (&*store.path, what)))
    }
}

fn cannot_read(path: &Path, compression: Option<Compression>, source: io::Error) -> SourceError {
    match compression {
        None => cannot("read", path)(source),
        Some(compression) => {
            SourceError::Compressed { path: path.to_owned(), format: compression.name(), source }
        }
    }
}
