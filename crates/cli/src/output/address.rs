//! Addresses of images on servers, without what must not be printed.

use std::{borrow::Cow, path::Path};

/// Those of web servers, in whose queries there may be signatures.
const WEB: [&str; 2] = ["http://", "https://"];
const OTHERS: [&str; 4] = ["s3://", "gs://", "az://", "oci://"];

/// Whether a path is an address of an image.
pub(crate) fn is_address(path: &Path) -> bool {
    begins(path, &WEB) || begins(path, &OTHERS)
}

/// Whether a path begins with one of these schemes, and then with something else than a slash.
fn begins(path: &Path, schemes: &[&str]) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    schemes.iter().any(|scheme| {
        let (start, rest) = bytes.split_at_checked(scheme.len()).unwrap_or_default();
        start.eq_ignore_ascii_case(scheme.as_bytes()) && !rest.starts_with(b"/")
    })
}

/// A path as it may be printed: an address without user, password and query, where signatures are.
pub(crate) fn shown(path: &Path) -> Cow<'_, Path> {
    let text = path.as_os_str().to_string_lossy();
    match text.split_once("://") {
        Some((scheme, rest)) if is_address(path) || scheme == "docker" => {
            let ends: &[char] = if begins(path, &WEB) { &['?', '#'] } else { &[] };
            let rest = rest.split(ends).next().unwrap_or_default();
            let (authority, place) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or_default();
            Cow::Owned(format!("{scheme}://{host}{place}").into())
        }
        _ => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_an_address_is_shown() {
        let shown = |path: &str| shown(Path::new(path)).to_str().unwrap().to_owned();
        assert_eq!(shown("https://me:p@ss@host:1/a@b/x?key=1#y"), "https://host:1/a@b/x");
        assert_eq!(shown("HTTP://me@host?key=/a@b"), "HTTP://host");
        assert_eq!(shown("oci://me:p@host/a@sha256:0"), "oci://host/a@sha256:0");
        assert_eq!(shown("docker://me:p@host/a:1"), "docker://host/a:1");
        assert_eq!(shown("s3://bucket/a?b@c"), "s3://bucket/a?b@c");
        assert_eq!(shown("a?b@c"), "a?b@c");
        assert_eq!(shown("./https://me@host/x"), "./https://me@host/x");
    }
}
