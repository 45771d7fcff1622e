//! Defines [`ObjectReader`], which reads an object from start to end.

use std::{
    fmt,
    io::{self, Cursor, Read},
    ops::Range,
};

use ureq::BodyReader;

use crate::{
    RemoteError,
    chunks::Chunks,
    client::{Client, failure::cut, patience::Patience},
    origin::{Origin, inside},
    version::Version,
};

/// Bytes of an object in chunks that are fetched at once.
const PART: u64 = 4 << 20;

/// Reads a version of an object from start to end. What is cut off is continued where it ended.
pub struct ObjectReader {
    origin: Origin,
    version: Option<Version>,
    length: u64,
    position: u64,
    /// What an answer still has, and where it ends.
    body: Option<(BodyReader<'static>, u64)>,
    /// What was fetched of an object in chunks, up to the end of the part.
    part: Cursor<Vec<u8>>,
    patience: Patience,
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectReader").field("position", &self.position).finish_non_exhaustive()
    }
}

impl ObjectReader {
    /// Reads from a position on.
    pub(crate) fn new(origin: Origin, version: Version, position: u64) -> Self {
        let (length, patience) = (version.length, origin.patience());
        let (body, part) = (None, Cursor::default());
        Self { origin, version: Some(version), length, position, body, part, patience }
    }

    /// Reads what the server sends, or why it sends nothing.
    fn try_read(&mut self, buf: &mut [u8]) -> Result<usize, RemoteError> {
        match &self.origin {
            Origin::Object(client) => {
                let range = self.position..self.length;
                let begin = |client: &Client, version: &mut Option<Version>| {
                    let (response, _, length) = client.begin(&range, version)?;
                    if length == 0 {
                        return Err(RemoteError::wrong(client.host(), "it has no bytes"));
                    }
                    let end = range.start.saturating_add(length);
                    Ok((response.into_body().into_reader(), end))
                };
                let body = if let Some(body) = self.body.take() {
                    body
                } else {
                    let (body, end) = begin(client, &mut self.version)?;
                    let (bytes, missing) = (end - self.position, self.length - end);
                    self.patience.short(bytes, missing, client.host())?;
                    (body, end)
                };
                self.read_body(body, buf)
            }
            Origin::Chunks(chunks) => {
                let taken = self.part.read(buf).unwrap_or_default();
                if taken == 0 {
                    self.part = Cursor::new(part(chunks, self.position..self.length)?);
                    return self.try_read(buf);
                }
                self.position += taken as u64;
                Ok(taken)
            }
        }
    }

    fn read_body(
        &mut self,
        (mut body, end): (BodyReader<'static>, u64),
        buf: &mut [u8],
    ) -> Result<usize, RemoteError> {
        let left = usize::try_from(end - self.position).unwrap_or(usize::MAX);
        let (buf, _) = buf.split_at_mut(left.min(buf.len()));
        let got = match body.read(buf) {
            Ok(got) if got > 0 => got,
            ended => {
                let error = ended.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                return Err(cut(&error, self.origin.host(), end - self.position));
            }
        };
        self.patience.renew(got);
        self.position += got as u64;
        if self.position < end {
            self.body = Some((body, end));
        }
        Ok(got)
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() || self.position == self.length {
            return Ok(0);
        }
        loop {
            match self.try_read(buf) {
                Ok(got) => return Ok(got),
                Err(error) => self.patience.wait(error).map_err(io::Error::other)?,
            }
        }
    }
}

/// The first bytes of a range.
fn part(chunks: &Chunks, range: Range<u64>) -> Result<Vec<u8>, RemoteError> {
    let range = range.start..range.end.min(range.start.saturating_add(PART));
    let mut part = Vec::new();
    chunks.fetch(&range, &mut |position, bytes| {
        part.extend_from_slice(inside(&range, position, bytes));
        Ok(())
    })?;
    Ok(part)
}
