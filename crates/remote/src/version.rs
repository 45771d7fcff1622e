//! Defines [`Version`]: which version of an object an answer is about.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use ureq::http::{
    HeaderMap, HeaderName,
    header::{ETAG, IF_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED},
};

use crate::RemoteError;

/// A version of an object. Answers whose versions are equal are about the same bytes.
///
/// Its text is for another process, which opens the same version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Version {
    /// Bytes of the whole object.
    pub(crate) length: u64,
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_error| fmt::Error)?)
    }
}

impl FromStr for Version {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl Version {
    /// That of an object which its digest names.
    pub(crate) fn pinned(digest: &str, length: u64) -> Self {
        Self { length, etag: Some(digest.to_owned()), modified: None }
    }

    /// The version that an answer names, of an object of this length.
    pub(crate) fn of(headers: &HeaderMap, length: u64, host: &str) -> Result<Self, RemoteError> {
        let text =
            |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let version = Self { length, etag: text(ETAG), modified: text(LAST_MODIFIED) };
        match version.condition() {
            Some(_) => Ok(version),
            None => Err(RemoteError::NoVersion { host: host.to_owned() }),
        }
    }

    /// The header that makes a server refuse a request about another version. `None`: there is none.
    pub(crate) fn condition(&self) -> Option<(HeaderName, &str)> {
        // A weak one is kept through changes of bytes.
        let strong = self.etag.as_deref().filter(|etag| !etag.starts_with("W/"));
        let by_tag = strong.map(|etag| (IF_MATCH, etag));
        by_tag.or_else(|| Some((IF_UNMODIFIED_SINCE, self.modified.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(headers: &[(HeaderName, &'static str)]) -> Result<Version, RemoteError> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
        Version::of(&headers.collect(), 5, "host")
    }

    #[test]
    fn a_strong_tag_or_a_time_names_a_version() {
        let date = (LAST_MODIFIED, "Sun, 22 Nov 2026 10:00:00 GMT");
        let strong = version(&[(ETAG, "\"a\""), date.clone()]).unwrap();
        assert_eq!(strong.condition(), Some((IF_MATCH, "\"a\"")));
        let weak = version(&[(ETAG, "W/\"a\""), date.clone()]).unwrap();
        assert_eq!(weak.condition(), Some((IF_UNMODIFIED_SINCE, date.1)));
        assert_ne!(strong, weak);
        for nothing in [&[][..], &[(ETAG, "W/\"a\"")]] {
            assert!(matches!(version(nothing), Err(RemoteError::NoVersion { .. })));
        }
    }
}
