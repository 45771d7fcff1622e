//! Reads the bytes of a tar, and defines where the data of its members are read later.

use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read, Seek, SeekFrom},
    mem,
    path::{Path, PathBuf},
};

use lith_system::FileAt;

use super::{
    decompress::decoder,
    header::{BLOCK, Block},
    spool::{Spool, SpoolError, fill},
};
use crate::{SourceError, detect::Compression, error::cannot, seen::Seen};

/// Bytes of a file read at once: a header, its extended headers and small data.
const WINDOW: usize = 4096;

/// Bytes read at once from a stream.
const SKIP: usize = 64 << 10;

/// Why bytes of an archive can't be read.
pub(crate) enum InputError {
    /// It has no more.
    Ended,
    /// They can't be read or stored.
    Source(SourceError),
}

/// A tar, or another archive, that is read from start to end.
pub(crate) struct Input<'a> {
    path: &'a Path,
    position: u64,
    from: From<'a>,
}

enum From<'a> {
    File { store: FileStore, reader: BufReader<File> },
    Stream { reader: Box<dyn Read + 'a>, compression: Option<Compression>, spool: Option<Spool> },
}

/// Where the data of members are after the tar was read.
pub(crate) enum Store {
    /// In the archive itself.
    File(FileStore),
    /// In a spool.
    Spool(Spool),
    /// In an archive that can't be read again.
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

    /// The same part of the same file.
    pub(crate) fn again(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, start: self.start, length: self.length })
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

pub(crate) struct FileStore {
    /// Where the tar is.
    region: Region,
    path: PathBuf,
    /// The size of the file.
    size: u64,
    seen: Seen,
}

impl<'a> Input<'a> {
    /// A part of a regular file, whose current position changes.
    pub(crate) fn file(path: &'a Path, mut region: Region) -> Result<Self, SourceError> {
        let sought = region.file.seek(SeekFrom::Start(region.start));
        sought.map_err(cannot("read", path))?;
        let metadata = region.file.metadata().map_err(cannot("read the attributes", path))?;
        let status = lith_system::status(&metadata);
        let store = FileStore {
            region,
            path: path.to_owned(),
            size: status.size,
            seen: Seen::new(&status),
        };
        let file = store.region.file.try_clone().map_err(cannot("open", path))?;
        let reader = BufReader::with_capacity(WINDOW, file);
        Ok(Self { path, position: 0, from: From::File { store, reader } })
    }

    /// A stream that is read once; the data of its members are stored in `spool`, or skipped.
    pub(crate) fn stream(
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
    pub(crate) const fn position(&self) -> u64 {
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
        let at = self.keep(length)?;
        self.pad(length)?;
        Ok(at)
    }

    /// Stores the next `length` bytes, and returns where they are in the store.
    pub(crate) fn keep(&mut self, length: u64) -> Result<u64, InputError> {
        let From::Stream { reader, compression, spool: Some(spool) } = &mut self.from else {
            let at = self.position;
            self.pass(length)?;
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
        Ok(at)
    }

    /// Reads what was stored at a position before.
    pub(crate) fn read_back(&self, buf: &mut [u8], at: u64) -> Result<(), InputError> {
        let read = match &self.from {
            From::File { store, .. } => store.read_at(buf, at),
            From::Stream { spool: Some(spool), .. } => spool.read_at(buf, at),
            From::Stream { spool: None, .. } => Err(io::ErrorKind::NotSeekable.into()),
        };
        read.map_err(|source| InputError::Source(cannot("read", self.path)(source)))
    }

    /// Skips `length` bytes and the rest of their last block.
    pub(super) fn skip(&mut self, length: u64) -> Result<(), InputError> {
        self.pass(length)?;
        self.pad(length)
    }

    fn pad(&mut self, length: u64) -> Result<(), InputError> {
        self.pass(length.wrapping_neg() % BLOCK as u64)
    }

    /// Skips `length` bytes.
    pub(crate) fn pass(&mut self, length: u64) -> Result<(), InputError> {
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
    pub(crate) fn drain(&mut self) -> Result<bool, InputError> {
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

    /// Skips zeros, and returns the byte after them; `None`: the archive ends there.
    pub(crate) fn after_zeros(&mut self) -> Result<Option<u8>, InputError> {
        loop {
            let mut byte = [0];
            match (self.take(&mut byte)?, byte) {
                (0, _) => return Ok(None),
                (_, [0]) => {}
                (_, [byte]) => return Ok(Some(byte)),
            }
        }
    }

    /// How the stream is compressed; `None`: it isn't, or it is a file.
    pub(crate) const fn compression(&self) -> Option<Compression> {
        match &self.from {
            From::File { .. } => None,
            From::Stream { compression, .. } => *compression,
        }
    }

    /// Decompresses what follows, whose first bytes were read already. Returns whether that was possible: in a file it isn't,
    /// because its data are to stay there.
    pub(crate) fn decompress(
        &mut self,
        format: Compression,
        start: Vec<u8>,
    ) -> Result<bool, InputError> {
        let From::Stream { reader, compression, .. } = &mut self.from else {
            return Ok(false);
        };
        let rest = mem::replace(reader, Box::new(io::empty()));
        let decoder = decoder(format, Cursor::new(start).chain(rest));
        let decoder = decoder
            .map_err(|source| InputError::Source(cannot("decompress", self.path)(source)))?;
        *reader = Box::new(BufReader::new(decoder));
        *compression = Some(format);
        Ok(true)
    }

    /// Fills `buf` and returns how many bytes there were.
    pub(crate) fn take(&mut self, buf: &mut [u8]) -> Result<usize, InputError> {
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
    pub(crate) fn into_store(self) -> (Store, u64) {
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

    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        self.region.file.read_exact_at(buf, self.region.start + position)
    }
}

impl Store {
    /// Fills `buf` with data of members.
    pub(super) fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        match self {
            Self::File(store) => store.read_at(buf, position),
            Self::Spool(spool) => spool.read_at(buf, position),
            Self::Gone => Err(io::ErrorKind::NotSeekable.into()),
        }
    }

    /// The path of the tar's file and the attribute that changed since it was opened; `None`: none has.
    pub(super) fn difference(&self) -> io::Result<Option<(&Path, String)>> {
        let Self::File(store) = self else {
            return Ok(None);
        };
        let status = lith_system::status(&store.region.file.metadata()?);
        let what = store.seen.difference(store.size, &status);
        Ok(what.map(|what| (&*store.path, what)))
    }
}

/// Makes the error for bytes that can't be read, or not be decompressed.
pub(crate) fn cannot_read(
    path: &Path,
    compression: Option<Compression>,
    source: io::Error,
) -> SourceError {
    match compression {
        None => cannot("read", path)(source),
        Some(compression) => {
            SourceError::Compressed { path: path.to_owned(), format: compression.name(), source }
        }
    }
}
