//! Defines [`Digest`], by which a blob is found and verified.

use std::{
    fmt,
    io::{self, Read},
    str::FromStr,
};

use sha2::{Digest as _, Sha256, Sha512, digest::DynDigest};

/// The digest of a blob, in the form `sha256:HEX` or `sha512:HEX` of lowercase digits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Digest(String);

/// The digits of each algorithm's digests.
const ALGORITHMS: [(&str, usize); 2] = [("sha256", 64), ("sha512", 128)];

impl FromStr for Digest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (name, digits) = text.split_once(':').ok_or(())?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_known = ALGORITHMS.contains(&(name, digits.len()));
        if is_known && digits.bytes().all(is_digit) { Ok(Self(text.to_owned())) } else { Err(()) }
    }
}

impl Digest {
    /// The SHA-256 digest of these digits.
    pub(super) fn sha256(digits: &str) -> Option<Self> {
        format!("sha256:{digits}").parse().ok()
    }

    /// Where the blob is in a layout of OCI.
    pub(super) fn path(&self) -> String {
        format!("blobs/{}", self.0.replacen(':', "/", 1))
    }

    fn hasher(&self) -> Box<dyn DynDigest + Send> {
        if self.0.starts_with("sha512:") {
            Box::new(Sha512::new())
        } else {
            Box::new(Sha256::new())
        }
    }

    /// The digest of the same algorithm of other bytes.
    pub(super) fn of(&self, bytes: &[u8]) -> Self {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        self.finished(hasher)
    }

    fn finished(&self, hasher: Box<dyn DynDigest + Send>) -> Self {
        let name = self.0.split(':').next().unwrap_or_default();
        Self(format!("{name}:{}", hex::encode(hasher.finalize())))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A reader that computes the digest of what it reads.
pub(super) struct Hashing<R> {
    reader: R,
    /// Of the algorithm that is used.
    expected: Digest,
    hasher: Box<dyn DynDigest + Send>,
}

impl<R: Read> Hashing<R> {
    /// `expected` is what the digest should be.
    pub(super) fn new(reader: R, expected: &Digest) -> Self {
        Self { reader, hasher: expected.hasher(), expected: expected.clone() }
    }

    /// Reads to the end, and returns the digest found if it is another than expected.
    pub(super) fn mismatch(mut self) -> io::Result<Option<Digest>> {
        io::copy(&mut self, &mut io::sink())?;
        let found = self.expected.finished(self.hasher);
        Ok((found != self.expected).then_some(found))
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buf)?;
        self.hasher.update(buf.split_at(got).0);
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_have_no_other_bytes_than_digits() {
        let digits = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let digest = Digest::sha256(digits).unwrap();
        assert_eq!(digest.path(), format!("blobs/sha256/{digits}"));
        assert_eq!(digest.of(b""), digest);
        assert_eq!(Hashing::new(&b""[..], &digest).mismatch().unwrap(), None);
        assert!(Hashing::new(&b"x"[..], &digest).mismatch().unwrap().is_some());
        let upper = digits.to_uppercase();
        for text in [
            "sha256:../../../../etc/passwd",
            "sha256:",
            "sha256",
            &format!("sha256:{upper}"),
            &format!("sha512:{digits}"),
            &format!("md5:{digits}"),
            &format!("sha256:{digits}0"),
            &format!("sha256:../{}", digits.split_at(3).1),
        ] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
