//! Reads the bytes of a tar, and defines where the data of its members are read later.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
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
    error::cannot,
    seen::{Seen, size_of},
};

/// Bytes of a file read at once: a header, its extended headers and small data.
const WINDOW: usize = 4096;

/// Bytes read at once from a stream.
const SKIP: usize = 64 << 10;

/// Why bytes of a tar can't be read.
pub(super) enum InputError {
    /// It has no more.
    Ended,
    /// They can't be read or stored.
    Source(SourceError),
}

/// A tar that is read from start to end.
pub(super) struct Input<'a> {
    path: &'a Path,
    position: u64,
    from: From<'a>,
}

enum From<'a> {
    File { store: FileStore, reader: BufReader<File> },
    Stream { reader: Box<dyn Read + 'a>, compression: Option<Compression>, spool: Option<Spool> },
}

/// Where the data of members are after the tar was read.
pub(super) enum Store {
    /// In the tar itself.
    File(FileStore),
    /// In a spool.
    Spool(Spool),
    /// In a tar that can't be read again.
    Gone,
}

/// A part of a file.
pub(crate) struct Region {
    pub(crate) file: File,
    /// Where it starts.
    pub(crate) start: u64,
    /// Its bytes.
    pub(crate) length: u64,
}

/// Reads a part of a file from start to end.
pub(crate) struct RegionReader<'a> {
    region: &'a Region,
    position: u64,
}

impl Region {
    /// Reads it from its start.
    pub(crate) const fn reader(&self) -> RegionReader<'_> {
        RegionReader { region: self, position: 0 }
    }

    /// Reads bytes from a position on, and returns how many there were.
    pub(crate) fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(position));
        let length = left.map_or(buf.len(), |left| left.min(buf.len()));
        self.file.read_at(buf.split_at_mut(length).0, self.start + position)
    }
}

impl Read for RegionReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.region.read_at(buf, self.position)?;
        self.position += got as u64;
        Ok(got)
    }
}

pub(super) struct FileStore {
    /// Where the tar is.
    region: Region,
    path: PathBuf,
    /// The size of the file.
    size: u64,
    seen: Seen,
}

impl<'a> Input<'a> {
    /// A tar in a part of a regular file, whose current position changes.
    pub(super) fn file(path: &'a Path, mut region: Region) -> Result<Self, SourceError> {
        let sought = region.file.seek(SeekFrom::Start(region.start));
        sought.map_err(cannot("read", path))?;
        let attributes = fstat(&region.file).map_err(io::Error::from);
        let attributes = attributes.map_err(cannot("read the attributes", path))?;
        let store = FileStore {
            region,
            path: path.to_owned(),
            size: size_of(&attributes),
            seen: Seen::new(&attributes),
        };
        let file = store.region.file.try_clone().map_err(cannot("open", path))?;
        let reader = BufReader::with_capacity(WINDOW, file);
        Ok(Self { path, position: 0, from: From::File { store, reader } })
    }

    /// A stream that is read once; the data of its members are stored in `spool`, or skipped.
    pub(super) fn stream(
        path: &'a Path,
        reader: Box<dyn Read + 'a>,
        compression: Option<Compression>,
        spool: Option<Spool>,
    ) -> Self {
        Self { path, position: 0, from: From::Stream { reader, compression, spool } }
    }

    /// Whether the data of members can be read later.
    pub(super) const fn keeps_data(&self) -> bool {
        !matches!(self.from, From::Stream { spool: None, .. })
    }

    /// The number of bytes read or skipped.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// The next block; `None` if the tar ends here.
    pub(super) fn block(&mut self) -> Result<Option<Block>, InputError> {
        let mut block = [0; BLOCK];
        match self.take(&mut block)? {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => Err(InputError::Ended),
        }
    }

    /// The next `length` bytes; skips the rest of their last block. Allocates memory only as bytes are read, since `length` is
    /// untrusted.
    pub(super) fn bytes(&mut self, length: u64) -> Result<Vec<u8>, InputError> {
        let mut bytes = Vec::new();
        let mut left = length;
        while left > 0 {
            let step = usize::try_from(left).map_or(SKIP, |left| left.min(SKIP));
            let start = bytes.len();
            bytes.resize(start + step, 0);
            if self.take(bytes.split_at_mut(start).1)? < step {
                return Err(InputError::Ended);
            }
            left -= step as u64;
        }
        self.pad(length)?;
        Ok(bytes)
    }

    /// Stores the next `length` bytes, skips the rest of their last block, and returns where they are in the store.
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

    /// Skips `length` bytes and the rest of their last block.
    pub(super) fn skip(&mut self, length: u64) -> Result<(), InputError> {
        self.pass(length)?;
        self.pad(length)
    }

    fn pad(&mut self, length: u64) -> Result<(), InputError> {
        self.pass(length.wrapping_neg() % BLOCK as u64)
    }

    fn pass(&mut self, length: u64) -> Result<(), InputError> {
        if let From::File { store, reader } = &mut self.from {
            let left = store.length() - self.position;
            let skipped = length.min(left);
            let sought = reader.seek_relative(skipped.cast_signed());
            sought.map_err(|source| InputError::Source(cannot("read", self.path)(source)))?;
            self.position += skipped;
            return if length > left { Err(InputError::Ended) } else { Ok(()) };
        }
        let mut left = length;
        let mut buffer = [0; 8192];
        while left > 0 {
            let step = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            if self.take(buffer.split_at_mut(step).0)? < step {
                return Err(InputError::Ended);
            }
            left -= step as u64;
        }
        Ok(())
    }

    /// Reads to the end, so that the writer of a pipe can finish and the checksum of a compressed stream is verified. Returns
    /// whether anything but zeros was left.
    pub(super) fn drain(&mut self) -> Result<bool, InputError> {
        let mut buffer = vec![0; SKIP];
        let mut found = false;
        loop {
            let got = self.take(&mut buffer)?;
            found |= buffer.iter().take(got).any(|byte| *byte != 0);
            let in_place = matches!(self.from, From::File { .. });
            if got < buffer.len() || found && in_place {
                return Ok(found);
            }
        }
    }

    /// Fills `buf` and returns how many bytes there were.
    fn take(&mut self, buf: &mut [u8]) -> Result<usize, InputError> {
        let (got, compression) = match &mut self.from {
            From::File { store, reader } => {
                let left = usize::try_from(store.length() - self.position);
                let length = left.map_or(buf.len(), |left| left.min(buf.len()));
                (reader.read_exact(buf.split_at_mut(length).0).map(|()| length), None)
            }
            From::Stream { reader, compression, .. } => (fill(reader, buf), *compression),
        };
        let got =
            got.map_err(|source| InputError::Source(cannot_read(self.path, compression, source)))?;
        self.position += got as u64;
        Ok(got)
    }

    /// Where the data of members are, and the length of the tar, which was read to its end.
    pub(super) fn into_store(self) -> (Store, u64) {
        match self.from {
            From::File { store, .. } => {
                let length = store.length();
                (Store::File(store), length)
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

impl FileStore {
    /// The length of the tar in bytes.
    const fn length(&self) -> u64 {
        self.region.length
    }
}

impl Store {
    /// Fills `buf` with data of members.
    pub(super) fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        match self {
            Self::File(store) => {
                store.region.file.read_exact_at(buf, store.region.start + position)
            }
            Self::Spool(spool) => spool.read_at(buf, position),
            Self::Gone => Err(io::ErrorKind::NotSeekable.into()),
        }
    }

    /// The path of the tar's file and the attribute that changed since it was opened; `None`: none has.
    pub(super) fn difference(&self) -> io::Result<Option<(&Path, String)>> {
        let Self::File(store) = self else {
            return Ok(None);
        };
        let stat = fstat(&store.region.file)?;
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
