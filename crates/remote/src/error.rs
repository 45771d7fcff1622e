//! Defines [`RemoteError`], why bytes of a server can't be had.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

/// Why bytes of an object on a server can't be had. No message holds a credential.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The address can't be understood.
    #[error("is no address: {0}")]
    Address(&'static str),
    /// No answer arrived, or not all of it.
    #[error("cannot reach {host}")]
    Unreachable {
        /// The server.
        host: String,
        /// What happened.
        source: Arc<io::Error>,
    },
    /// Certificates don't prove that the server is the right one, or there is no common protocol.
    #[error("no trusted connection to {host}: {reason}")]
    Untrusted {
        /// The server.
        host: String,
        /// What is wrong.
        reason: String,
    },
    /// The server refuses the request.
    #[error("{host} answers {status}")]
    Refused {
        /// The server.
        host: String,
        /// Status and what it means, such as `404 Not Found`.
        status: String,
    },
    /// The server can't answer now.
    #[error("{host} is busy: it answers {status}")]
    Busy {
        /// The server.
        host: String,
        /// Status and what it means, such as `503 Service Unavailable`.
        status: String,
        /// The time after which it wants the next request.
        after: Option<Duration>,
    },
    /// The bucket is in another region.
    #[error("{host}: the bucket is in the region {region}: set AWS_REGION={region}")]
    Region {
        /// The server.
        host: String,
        /// The region.
        region: String,
    },
    /// What a registry has under a name is not what is expected.
    #[error("{host}: {what}")]
    Artifact {
        /// The registry.
        host: String,
        /// What is wrong with it.
        what: String,
    },
    /// Bytes are not those of their digest.
    #[error("{host} sent bytes with the digest {found}, not {expected}")]
    Mismatch {
        /// The registry.
        host: String,
        /// The digest of the bytes.
        found: String,
        /// That by which they were requested.
        expected: String,
    },
    /// A local file can't be read.
    #[error("cannot read what is to be sent")]
    Local(#[source] Arc<io::Error>),
    /// A file with the user's logins can't be used.
    #[error("{}: {what}", path.display())]
    Logins {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The connection ended before the body of an answer did.
    #[error("{host} sent {missing} bytes too few")]
    Cut {
        /// The server.
        host: String,
        /// Bytes that are missing.
        missing: u64,
    },
    /// The body of an answer arrives too slowly.
    #[error("{host} sends too slowly: {missing} bytes are missing")]
    Slow {
        /// The server.
        host: String,
        /// Bytes that are missing.
        missing: u64,
    },
    /// The server sends only whole objects.
    #[error("{host} sends no ranges of it, only the whole; download it first")]
    NoRanges {
        /// The server.
        host: String,
    },
    /// Neither a strong `ETag` nor a date identifies the version of the object.
    #[error("{host} names no version of it (a strong ETag, or Last-Modified); download it first")]
    NoVersion {
        /// The server.
        host: String,
    },
    /// The object on the server is another one than when it was opened.
    #[error("it has changed on {host} since it was opened")]
    Changed {
        /// The server.
        host: String,
    },
    /// An answer contradicts the request or itself.
    #[error("{host} sent a wrong answer: {what}")]
    Wrong {
        /// The server.
        host: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A redirection can't be followed.
    #[error("{host} redirects {what}")]
    Redirect {
        /// The server.
        host: String,
        /// Where to.
        what: &'static str,
    },
    /// What was fetched can't be stored.
    #[error("{}: cannot keep what was fetched", path.display())]
    Store {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        source: Arc<io::Error>,
    },
}

impl RemoteError {
    /// Whether the server has the object, but sends it as a whole only, as [`WholeReader`](crate::WholeReader) reads it.
    #[must_use]
    pub const fn is_of_whole(&self) -> bool {
        matches!(self, Self::NoRanges { .. } | Self::NoVersion { .. })
    }

    /// Whether the same request may succeed later.
    pub(crate) const fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Busy { .. } | Self::Cut { .. } | Self::Slow { .. }
        )
    }

    pub(crate) fn wrong(host: &str, what: &'static str) -> Self {
        Self::Wrong { host: host.to_owned(), what }
    }
}
