//! Computes and compares digests of blobs, in the form `sha256:HEX`. Defines [`Verifying`].

use std::{
    fmt,
    io::{self, Read},
};

use sha2::{Digest, Sha256, Sha512, digest::DynDigest};

use crate::RemoteError;

/// The digest of all bytes of a reader, in the form `sha256:HEX`, and their number.
///
/// # Errors
/// The reader's.
pub fn sha256_of(mut reader: impl Read) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    loop {
        let got = match reader.read(&mut buffer) {
            Ok(0) => return Ok((format!("sha256:{}", hex::encode(hasher.finalize())), length)),
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        Digest::update(&mut hasher, buffer.split_at(got).0);
        length += got as u64;
    }
}

/// Passes bytes on, of which the last ones are an error if all together don't have a digest.
pub struct Verifying<R> {
    reader: R,
    hasher: Option<Box<dyn DynDigest + Send>>,
    expected: String,
    host: String,
}

impl<R> fmt::Debug for Verifying<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifying").field("expected", &self.expected).finish_non_exhaustive()
    }
}

impl<R: Read> Verifying<R> {
    /// `digest` is what it should be, in the form `sha256:HEX` or `sha512:HEX`; `host` is named in the error.
    #[must_use]
    pub fn new(reader: R, digest: &str, host: &str) -> Self {
        let hasher = Some(hasher(digest));
        Self { reader, hasher, expected: digest.to_owned(), host: host.to_owned() }
    }
}

impl<R: Read> Read for Verifying<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buf)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(buf.split_at(got).0);
        }
        if got == 0
            && !buf.is_empty()
            && let Some(hasher) = self.hasher.take()
        {
            let found = finished(hasher, &self.expected);
            if found != self.expected {
                let (host, expected) = (self.host.clone(), self.expected.clone());
                return Err(io::Error::other(RemoteError::Mismatch { host, found, expected }));
            }
        }
        Ok(got)
    }
}

/// The digest of bytes by the algorithm of another digest.
pub(crate) fn digest_as(expected: &str, bytes: &[u8]) -> String {
    let mut hasher = hasher(expected);
    hasher.update(bytes);
    finished(hasher, expected)
}

fn hasher(digest: &str) -> Box<dyn DynDigest + Send> {
    if digest.starts_with("sha512:") { Box::new(Sha512::new()) } else { Box::new(Sha256::new()) }
}

fn finished(hasher: Box<dyn DynDigest + Send>, expected: &str) -> String {
    let algorithm = expected.split(':').next().unwrap_or_default();
    format!("{algorithm}:{}", hex::encode(hasher.finalize()))
}

/// Whether a text is a digest of an algorithm that is known here.
pub(crate) fn is_digest(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let known = |(name, digits): (&str, &str)| {
        let length = digits.len();
        (name == "sha256" && length == 64 || name == "sha512" && length == 128)
            && digits.bytes().all(is_digit)
    };
    text.split_once(':').is_some_and(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_have_the_digest_or_the_end_is_an_error() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_of(&b""[..]).unwrap(), (empty.to_owned(), 0));
        assert!(is_digest(empty) && !is_digest(&empty.to_uppercase()) && !is_digest("sha256:"));
        let mut bytes = Vec::new();
        assert_eq!(Verifying::new(&b""[..], empty, "h").read_to_end(&mut bytes).unwrap(), 0);
        let error = Verifying::new(&b"x"[..], empty, "h").read_to_end(&mut bytes).unwrap_err();
        assert!(
            error.to_string().contains("h sent bytes with the digest sha256:2d7116"),
            "{error}"
        );
        let long = digest_as("sha512:", b"x");
        assert_eq!(long.len(), 7 + 128);
        bytes.clear();
        Verifying::new(&b"x"[..], &long, "h").read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"x");
    }
}
