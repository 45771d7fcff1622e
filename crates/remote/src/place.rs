//! Finds where an object is that an address of any kind names.

use std::sync::Arc;

use percent_encoding::utf8_percent_encode;

use crate::{
    Address, Options, RemoteError,
    address::{Credentials, PATH},
    azure::Blob,
    origin::Origin,
    reader::ObjectReader,
    registry::{Reference, Registry},
    s3::Bucket,
    target::Target,
    version::Version,
};

/// The schemes of addresses.
const SCHEMES: [&str; 7] =
    ["http://", "https://", "s3://", "gs://", "az://", "oci://", "docker://"];

/// Whether a text is an address of an object: it begins with `http://`, `https://`, `s3://`, `gs://`, `az://` or `oci://`.
#[must_use]
pub fn is_address(text: &[u8]) -> bool {
    scheme(text).is_some_and(|scheme| scheme != "docker://")
}

/// An address as it may be shown: without user, password and query.
#[must_use]
pub fn shown(text: &str) -> String {
    match scheme(text.as_bytes()) {
        Some("http://" | "https://") => match Address::parse(text) {
            Ok(address) => address.to_string(),
            Err(_) => "an address".to_owned(),
        },
        Some(scheme) => {
            let rest = text.split_at(scheme.len()).1;
            let end = rest.find('/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(end);
            format!("{scheme}{}{path}", host.rsplit('@').next().unwrap_or_default())
        }
        None => text.to_owned(),
    }
}

/// The scheme of an address, in lower case. Three slashes follow the prefix of a local container image, as in `oci:///folder`.
pub(crate) fn scheme(text: &[u8]) -> Option<&'static str> {
    let has = |scheme: &&str| {
        let (start, rest) = text.split_at_checked(scheme.len()).unwrap_or_default();
        start.eq_ignore_ascii_case(scheme.as_bytes()) && !rest.starts_with(b"/")
    };
    SCHEMES.into_iter().find(has)
}

/// The object that an address names.
pub(crate) fn find(text: &str, options: &Options) -> Result<Origin, RemoteError> {
    if scheme(text.as_bytes()) != Some("oci://") {
        return target(text, options).map(|target| Origin::object(target, options));
    }
    let registry = Registry::open(&Reference::parse(text)?, options)?;
    let artifact = registry.artifact()?;
    registry.origin(&artifact.image)
}

/// The object that an address names which is not in a registry.
pub(crate) fn target(text: &str, options: &Options) -> Result<Target, RemoteError> {
    let rest = |scheme: &str| text.split_at(scheme.len()).1;
    match scheme(text.as_bytes()) {
        Some(scheme @ "s3://") => {
            let bucket = Bucket::new(rest(scheme), &options.s3)?;
            Ok(Target { address: bucket.address()?, access: Arc::new(bucket), pinned: None })
        }
        Some(scheme @ "gs://") => {
            let path = utf8_percent_encode(rest(scheme), PATH);
            of_web(&format!("https://storage.googleapis.com/{path}"), options)
        }
        Some(scheme @ "az://") => {
            let blob = Blob::new(rest(scheme), &options.azure)?;
            Ok(Target { address: blob.address(), access: Arc::new(blob), pinned: None })
        }
        Some("oci://") => Err(RemoteError::Address("it names an image in a registry")),
        _ => of_web(text, options),
    }
}

/// Where a version of an object is that was opened before. Names in a registry are not looked up: they may be those of another
/// image by now.
pub(crate) fn find_again(
    text: &str,
    version: &Version,
    options: &Options,
) -> Result<Origin, RemoteError> {
    if scheme(text.as_bytes()) != Some("oci://") {
        return find(text, options);
    }
    Registry::open(&Reference::parse(text)?, options)?.origin_of(version)
}

impl ObjectReader {
    /// Reads the object at an address: its first bytes, so many if there are as many, and a reader of the rest.
    ///
    /// # Errors
    /// [`RemoteError`] if nothing is there, or the server can't identify versions or send ranges.
    pub fn open(
        address: &str,
        bytes: usize,
        options: &Options,
    ) -> Result<(Vec<u8>, Self), RemoteError> {
        let origin = find(address, options)?;
        let (version, start) = origin.first(bytes as u64)?;
        let position = start.len() as u64;
        Ok((start, Self::new(origin, version, position)))
    }
}

fn of_web(text: &str, options: &Options) -> Result<Target, RemoteError> {
    let (address, own) = Address::with_credentials(text)?;
    let given = options.authorization.clone().map(Credentials);
    Ok(Target { address, access: Arc::new(own.or(given)), pinned: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_known_scheme() {
        for text in ["http://h/x", "HTTPS://h", "s3://b/k", "gs://b/k", "az://c/n", "oci://h/r:t"] {
            assert!(is_address(text.as_bytes()), "{text}");
        }
        for text in ["http:/h", "./s3://b/k", "docker://h/r", "oci:///folder", "oci:x", "x", ""] {
            assert!(!is_address(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn no_secret_is_shown() {
        for (text, expected) in [
            ("https://me:pw@h/x?sig=1", "https://h/x?..."),
            ("docker://me:pw@h/x", "docker://h/x"),
            ("oci://h/x@sha256:0", "oci://h/x@sha256:0"),
            ("s3://b/x?y", "s3://b/x?y"),
            ("me@x", "me@x"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn names_of_objects_are_encoded() {
        let options = Options::default();
        let found = target("gs://bucket/a b/c?d#e+f", &options).unwrap().address;
        let expected = "https://storage.googleapis.com/bucket/a%20b/c%3Fd%23e%2Bf";
        assert_eq!(found.secret_text(), expected);
    }
}
