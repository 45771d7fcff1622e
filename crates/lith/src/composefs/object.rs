//! Defines how an image refers to an object.

use std::{
    fmt::Write,
    path::{Component, Path, PathBuf},
};

/// Files of so many bytes or fewer are in the image itself.
pub const INLINE: u64 = 64;

/// The attribute with the object's path.
pub(super) const REDIRECT: &[u8] = b"trusted.overlay.redirect";
/// The attribute with the object's digest.
pub(super) const METACOPY: &[u8] = b"trusted.overlay.metacopy";

/// What the attribute of a SHA-256 begins with: version, length, flags and algorithm.
const SHA256: [u8; 4] = [0, 36, 0, 1];

/// The path of an object in its folder.
pub(super) fn name(digest: [u8; 32]) -> String {
    let mut name = String::new();
    for (number, byte) in digest.into_iter().enumerate() {
        let slash = if number == 1 { "/" } else { "" };
        // A string takes everything.
        let _ = write!(name, "{slash}{byte:02x}");
    }
    name
}

/// The value of [`METACOPY`].
pub(super) fn metacopy(digest: [u8; 32]) -> Vec<u8> {
    [&SHA256[..], &digest].concat()
}

/// The digest that a value of [`METACOPY`] has; `None` if it has none of a known algorithm.
pub(super) fn digest(value: &[u8]) -> Option<[u8; 32]> {
    value.strip_prefix(&SHA256)?.try_into().ok()
}

/// The path that a value of [`REDIRECT`] has, if it leads nowhere else than into the folder.
pub(super) fn path(value: &[u8]) -> Option<PathBuf> {
    let text = str::from_utf8(value.strip_prefix(b"/")?).ok()?;
    let mut components = Path::new(text).components();
    (!text.is_empty() && components.all(|part| matches!(part, Component::Normal(_))))
        .then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_nowhere_else() {
        let digest = [0xab; 32];
        let name = name(digest);
        assert_eq!((name.len(), &name[..5]), (65, "ab/ab"));
        assert_eq!(path(format!("/{name}").as_bytes()), Some(name.into()));
        for wrong in ["", "/", "a", "/../a", "/a/../../b", "//a/.."] {
            assert_eq!(path(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(super::digest(&metacopy(digest)), Some(digest));
        assert_eq!(super::digest(&[0; 36]), None);
        assert_eq!(super::digest(&[]), None);
    }
}
