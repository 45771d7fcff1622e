//! Defines [`Options`]: how objects are fetched and kept.

use std::{fmt, path::PathBuf, time::Duration};

use crate::{AzureAccount, Cache, S3Account, environment::variable, registry::usual_login_files};

/// How objects are fetched, and where they are kept.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The value of the header `Authorization`, for the server of the address only. What an address names itself
    /// (`https://user:password@host/`) comes first.
    pub authorization: Option<String>,
    /// Where buckets of S3 are, and who reads them.
    pub s3: S3Account,
    /// Where containers of Azure are, and who reads them.
    pub azure: AzureAccount,
    /// Files with logins for registries, as `docker login` and `podman login` write them. The first one that has one for a
    /// registry counts.
    pub logins: Vec<PathBuf>,
    /// Registries to which connections are not encrypted, by `HOST` or `HOST:PORT`, beside those on this machine.
    pub plain_registries: Vec<String>,
    /// Where fetched bytes are kept; `None`: in a temporary file, as long as the device is open.
    pub cache: Option<Cache>,
    /// The longest time for a connection, and for 16 KiB of what a server sends.
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
            s3: S3Account::default(),
            azure: AzureAccount::default(),
            logins: Vec::new(),
            plain_registries: Vec::new(),
            cache: None,
            timeout: Duration::from_secs(20),
            tries: 6,
            delay: Duration::from_millis(200),
            longest_delay: Duration::from_secs(30),
        }
    }
}

/// Without what may be secret.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { s3, azure, logins, plain_registries, cache, .. } = self;
        f.debug_struct("Options")
            .field("s3", s3)
            .field("azure", azure)
            .field("logins", logins)
            .field("plain_registries", plain_registries)
            .field("cache", cache)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// The default with what the environment says: [`S3Account::of_environment`], [`AzureAccount::of_environment`], the files of
    /// logins that docker and podman use, `LITH_HTTP_AUTHORIZATION` and, with commas between, `LITH_PLAIN_HTTP` for
    /// [`Self::plain_registries`].
    #[must_use]
    pub fn of_environment() -> Self {
        let plain = variable(&["LITH_PLAIN_HTTP"]).unwrap_or_default();
        let hosts = plain.split(',').map(str::trim).filter(|host| !host.is_empty());
        Self {
            authorization: variable(&["LITH_HTTP_AUTHORIZATION"]),
            plain_registries: hosts.map(str::to_owned).collect(),
            s3: S3Account::of_environment(),
            azure: AzureAccount::of_environment(),
            logins: usual_login_files(),
            ..Self::default()
        }
    }

    /// The default with some changes.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut options = Self::default();
        change(&mut options);
        options
    }
}
