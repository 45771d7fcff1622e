//! Defines [`WholeReader`], which reads an object of a server that sends neither ranges nor versions.

use std::{
    fmt,
    io::{self, Read},
};

use ureq::BodyReader;

use crate::{
    Options, RemoteError,
    client::{Client, failure::cut},
    place::target,
};

/// Reads an object from start to end by one request. What is cut off is an error.
pub struct WholeReader {
    body: BodyReader<'static>,
    /// Bytes that the server has announced and not sent yet.
    missing: Option<u64>,
    host: String,
}

impl fmt::Debug for WholeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { missing, host, .. } = self;
        f.debug_struct("WholeReader").field("missing", missing).field("host", host).finish()
    }
}

impl WholeReader {
    /// Requests the object at an address, which is not in a registry.
    ///
    /// # Errors
    /// [`RemoteError`] if nothing is there.
    pub fn open(address: &str, options: &Options) -> Result<Self, RemoteError> {
        let client = Client::new(target(address, options)?, options);
        let mut patience = client.patience();
        loop {
            match client.whole() {
                Ok((response, missing, host)) => {
                    let body = response.into_body().into_reader();
                    return Ok(Self { body, missing, host });
                }
                Err(error) => patience.wait(error)?,
            }
        }
    }
}

impl Read for WholeReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let missing = self.missing.unwrap_or_default();
        match self.body.read(buf) {
            Ok(got) if got > 0 => {
                self.missing = self.missing.map(|missing| missing.saturating_sub(got as u64));
                Ok(got)
            }
            Ok(_) if missing == 0 => Ok(0),
            Ok(_) => {
                let host = self.host.clone();
                Err(io::Error::other(RemoteError::Cut { host, missing }))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => Err(io::Error::other(cut(&error, &self.host, missing))),
        }
    }
}
