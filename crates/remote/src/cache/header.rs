//! Defines [`Header`]: of which version of which object a file of records is.

use std::{fs::File, io};

use lith_system::FileAt;

use crate::{store::RECORDS, units::UNIT, version::Version};

/// The first line of a file of records.
const MAGIC: &str = "lith-cache 1";

/// What a file of records says about the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// Its address, for people.
    pub(super) address: String,
    pub(super) version: Version,
}

impl Header {
    /// Lines of text, followed by zeros.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let Self { address, version: Version { length, etag, modified } } = self;
        let [etag, modified] = [etag, modified].map(|field| field.as_deref().unwrap_or_default());
        let fields = [MAGIC, &UNIT.to_string(), address, &length.to_string(), etag, modified];
        let is_line = |field: &&str| !field.contains(['\n', '\0']);
        let mut bytes = (fields.iter().all(is_line)).then(|| fields.join("\n").into_bytes())?;
        bytes.extend_from_slice(b"\nend\n");
        let size = usize::try_from(RECORDS).ok()?;
        (bytes.len() <= size).then(|| {
            bytes.resize(size, 0);
            bytes
        })
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let text = bytes.split(|byte| *byte == 0).next()?;
        let fields: Vec<&str> = std::str::from_utf8(text).ok()?.split('\n').collect();
        let [MAGIC, unit, address, length, etag, modified, "end", ""] = *fields else {
            return None;
        };
        if unit != UNIT.to_string() {
            return None;
        }
        let field = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let version =
            Version { length: length.parse().ok()?, etag: field(etag), modified: field(modified) };
        Some(Self { address: address.to_owned(), version })
    }

    /// Reads it; `None`: the file has none.
    pub(super) fn read(file: &File) -> Option<Self> {
        let mut bytes = vec![0; usize::try_from(RECORDS).ok()?];
        file.read_exact_at(&mut bytes, 0).ok()?;
        Self::decode(&bytes)
    }

    /// Writes it to a file without records.
    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        let too_long = || io::Error::other("the server's name for the version is too long");
        file.set_len(0)?;
        file.write_all_at(&self.encode().ok_or_else(too_long)?, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_what_it_was_made_of() {
        let version = Version { length: 7, etag: Some("\"x\"".to_owned()), modified: None };
        let header = Header { address: "http://host/x".to_owned(), version };
        let bytes = header.encode().unwrap();
        assert_eq!(bytes.len(), 4096);
        assert_eq!(Header::decode(&bytes), Some(header.clone()));
        for at in 0..40 {
            let mut torn = bytes.clone();
            torn[at..].fill(0);
            assert_eq!(Header::decode(&torn), None, "{at}");
        }
        let mut long = header;
        long.version.etag = Some("x".repeat(5000));
        assert_eq!(long.encode(), None);
    }
}
