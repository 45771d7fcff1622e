//! Addresses of images on web servers, without what must not be printed.

use std::{borrow::Cow, path::Path};

/// Whether a path is an address.
pub(crate) fn is_address(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    ["http://", "https://"].iter().any(|scheme| {
        let start = bytes.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    })
}

/// A path as it may be printed: an address without user, password and query, where signatures are.
pub(crate) fn shown(path: &Path) -> Cow<'_, Path> {
    let text = path.as_os_str().to_string_lossy();
    match text.split_once("://") {
        Some((scheme, rest)) if is_address(path) => {
            let rest = rest.split(['?', '#']).next().unwrap_or_default();
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
        assert_eq!(shown("a?b@c"), "a?b@c");
        assert_eq!(shown("./https://me@host/x"), "./https://me@host/x");
    }
}
