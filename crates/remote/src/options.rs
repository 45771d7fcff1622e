//! Defines [`Options`]: how objects are fetched and kept.

use std::time::Duration;

use crate::Cache;

/// How objects are fetched, and where they are kept.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The value of the header `Authorization`, for the server of the address only. What an address names itself
    /// (`https://user:password@host/`) comes first.
    pub authorization: Option<String>,
    /// Where fetched bytes are kept; `None`: in a temporary file, as long as the device is open.
    pub cache: Option<Cache>,
    /// The longest time for a connection, and without a byte on one.
    pub timeout: Duration,
    /// Requests in a row that may fail before a read does.
    pub tries: u32,
    /// The time before the second try; it doubles with each further one, up to [`Self::longest_delay`].
    pub delay: Duration,
    /// The longest time between two tries, whatever the server demands.
    pub longest_delay: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            authorization: None,
            cache: None,
            timeout: Duration::from_secs(20),
            tries: 6,
            delay: Duration::from_millis(200),
            longest_delay: Duration::from_secs(30),
        }
    }
}

impl Options {
    /// The default with some changes.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut options = Self::default();
        change(&mut options);
        options
    }
}
