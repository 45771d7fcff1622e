//! Defines [`ObjectReader`], which reads an object from start to end.

use std::{
    fmt,
    io::{self, Read},
};

use ureq::BodyReader;

use crate::{
    RemoteError,
    client::{Client, patience::Patience},
    version::Version,
};

/// Reads a version of an object from start to end. What is cut off is continued where it ended.
pub struct ObjectReader {
    client: Client,
    version: Option<Version>,
    length: u64,
    position: u64,
    /// What an answer still has, and where it ends.
    body: Option<(BodyReader<'static>, u64)>,
    patience: Patience,
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectReader").field("position", &self.position).finish_non_exhaustive()
    }
}

impl ObjectReader {
    /// Reads from a position on.
    pub(crate) fn new(client: Client, version: Version, position: u64) -> Self {
        let (length, patience) = (version.length, client.patience());
        Self { client, version: Some(version), length, position, body: None, patience }
    }

    /// Reads what the server sends, or why it sends nothing; `Ok(None)`: the rest is to be requested.
    fn try_read(&mut self, buf: &mut [u8]) -> Result<usize, RemoteError> {
        let (mut body, end) = if let Some(body) = self.body.take() {
            body
        } else {
            let range = self.position..self.length;
            let (response, _, length) = self.client.begin(&range, &mut self.version)?;
            if length == 0 {
                return Err(RemoteError::wrong(self.client.host(), "it has no bytes"));
            }
            (response.into_body().into_reader(), self.position.saturating_add(length))
        };
        let left = usize::try_from(end - self.position).unwrap_or(usize::MAX);
        let (buf, _) = buf.split_at_mut(left.min(buf.len()));
        let got = match body.read(buf) {
            Ok(got) if got > 0 => got,
            // Whatever the reason: the rest is requested by another connection.
            Ok(_) | Err(_) => {
                let missing = end - self.position;
                return Err(RemoteError::Cut { host: self.client.host().to_owned(), missing });
            }
        };
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
                Ok(got) => {
                    self.patience = self.client.patience();
                    return Ok(got);
                }
                Err(error) => self.patience.wait(error).map_err(io::Error::other)?,
            }
        }
    }
}
