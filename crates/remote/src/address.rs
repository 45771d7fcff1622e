//! Defines [`Address`]: where an object is, apart from what is needed to get it.

use std::{fmt, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str};
use ureq::http::{
    Uri,
    uri::{Authority, PathAndQuery, Scheme},
};

use crate::RemoteError;

/// What stays as it is in the path of an address.
pub(crate) const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// How long a signature in an address is valid: for one request, which may wait, and clocks differ.
pub(crate) const VALID: Duration = Duration::from_secs(15 * 60);

/// Whether a text begins with `http://` or `https://`.
fn is_address(name: &[u8]) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        name.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    })
}

/// The address of an object, without credentials. As text it also has no query, as there signatures are.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Uri);

/// The value of the header `Authorization`.
#[derive(Clone)]
pub(crate) struct Credentials(pub(crate) String);

impl Address {
    /// Parses an address, and takes the credentials out of it.
    ///
    /// # Errors
    /// [`RemoteError::Address`] if it is none.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        Self::with_credentials(text).map(|(address, _)| address)
    }

    /// An address and the credentials in it.
    pub(crate) fn with_credentials(text: &str) -> Result<(Self, Option<Credentials>), RemoteError> {
        if !is_address(text.as_bytes()) {
            return Err(RemoteError::Address("expected http:// or https://"));
        }
        // A fragment is for who reads the object.
        let text = text.split('#').next().unwrap_or_default();
        let not_printable = |_error| RemoteError::Address("it has characters to be written as %XX");
        let uri = text.parse::<Uri>().map_err(not_printable)?;
        let authority = uri.authority().map_or("", Authority::as_str);
        let Some((user, host)) = authority.rsplit_once('@') else {
            return Ok((Self::checked(uri)?, None));
        };
        let user = percent_decode_str(user).collect::<Vec<u8>>();
        let colon = if user.contains(&b':') { &b""[..] } else { b":" };
        let basic = BASE64_STANDARD.encode([&user, colon].concat());
        let mut parts = uri.clone().into_parts();
        parts.authority = Some(host.parse().map_err(not_printable)?);
        let uri =
            Uri::from_parts(parts).map_err(|_error| RemoteError::Address("it has no host"))?;
        Ok((Self::checked(uri)?, Some(Credentials(format!("Basic {basic}")))))
    }

    fn checked(uri: Uri) -> Result<Self, RemoteError> {
        match uri.host() {
            None | Some("") => Err(RemoteError::Address("it has no host")),
            Some(_) => Ok(Self(uri)),
        }
    }

    pub(crate) const fn uri(&self) -> &Uri {
        &self.0
    }

    /// The server, for messages.
    pub(crate) fn host(&self) -> &str {
        self.0.authority().map_or("", Authority::as_str)
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }

    /// Whether both are the same server, which may see the same credentials.
    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        let port = |address: &Self| {
            address.0.port_u16().unwrap_or(if address.is_encrypted() { 443 } else { 80 })
        };
        let host = |address: &Self| address.0.host().map(str::to_ascii_lowercase);
        self.0.scheme() == other.0.scheme()
            && host(self) == host(other)
            && port(self) == port(other)
    }

    /// The whole address, which may hold a secret in its query.
    pub(crate) fn secret_text(&self) -> String {
        self.0.to_string()
    }

    /// Where a redirection from here leads to, as RFC 3986 defines references. Credentials in it are left out.
    pub(crate) fn join(&self, reference: &str) -> Result<Self, RemoteError> {
        let scheme = self.0.scheme_str().unwrap_or("http");
        let (host, path) = (self.host(), self.0.path());
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let text = if reference.split(['/', '?', '#']).next().is_some_and(|all| all.contains(':')) {
            reference.to_owned()
        } else if let Some(rest) = reference.strip_prefix("//") {
            format!("{scheme}://{rest}")
        } else if reference.starts_with('/') {
            format!("{scheme}://{host}{reference}")
        } else if reference.starts_with('?') {
            format!("{scheme}://{host}{path}{reference}")
        } else {
            format!("{scheme}://{host}{folder}/{reference}")
        };
        let joined = Self::parse(&text)?;
        let mut parts = joined.0.into_parts();
        if let Some(old) = &parts.path_and_query {
            let plain = without_dots(old.path());
            let query = old.query().map(|query| format!("?{query}")).unwrap_or_default();
            parts.path_and_query = PathAndQuery::try_from(plain + &query).ok();
        }
        let uri =
            Uri::from_parts(parts).map_err(|_error| RemoteError::Address("it has no path"))?;
        Ok(Self(uri))
    }
}

/// A path without the segments `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.scheme_str().unwrap_or("http");
        write!(f, "{scheme}://{}{}", self.host(), self.0.path())?;
        self.0.query().map_or(Ok(()), |_secret| write!(f, "?..."))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_out() {
        let (address, credentials) =
            Address::with_credentials("https://me:p%40ss@Host:8443/a/x.erofs?sig=abc#top").unwrap();
        assert_eq!(address.to_string(), "https://Host:8443/a/x.erofs?...");
        assert_eq!(format!("{address:?}"), "https://Host:8443/a/x.erofs?...");
        assert_eq!(
            address.secret_text(),
            "https://host:8443/a/x.erofs?sig=abc".replace("host", "Host")
        );
        // `me:p@ss`
        assert_eq!(credentials.unwrap().0, "Basic bWU6cEBzcw==");
        let (_, user) = Address::with_credentials("http://me@host/").unwrap();
        assert_eq!(user.unwrap().0, "Basic bWU6");
        assert!(Address::with_credentials("http://host/").unwrap().1.is_none());
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["ftp://host/x", "http://", "http://user@/x", "http:///x", "https://a b/c", "x"]
        {
            let found = Address::parse(text);
            assert!(matches!(found, Err(RemoteError::Address(_))), "{text}: {found:?}");
        }
        assert!(is_address(b"HTTP://x") && !is_address(b"http:/x") && !is_address(b"./http://x"));
    }

    #[test]
    fn redirections_are_relative_to_the_address() {
        let base = Address::parse("https://host:1/a/b/c?q").unwrap();
        for (reference, expected) in [
            ("d", "https://host:1/a/b/d"),
            ("../d", "https://host:1/a/d"),
            ("../../../d/.", "https://host:1/d/"),
            ("/d?x=1", "https://host:1/d?x=1"),
            ("?z", "https://host:1/a/b/c?z"),
            ("//other/d", "https://other/d"),
            ("http://me:pw@other:8/d#f", "http://other:8/d"),
            ("d/e:f", "https://host:1/a/b/d/e:f"),
        ] {
            assert_eq!(base.join(reference).unwrap().secret_text(), expected, "{reference}");
        }
        assert!(base.join("ftp://other/d").is_err());
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let is_same = |a: &str, b: &str| {
            Address::parse(a).unwrap().has_origin_of(&Address::parse(b).unwrap())
        };
        assert!(is_same("https://a/x", "https://A:443/y"));
        assert!(!is_same("https://a/x", "http://a/x"));
        assert!(!is_same("https://a/x", "https://a:444/x"));
        assert!(!is_same("https://a/x", "https://b/x"));
    }
}
