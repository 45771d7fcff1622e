//! Defines [`Reference`], the address of a container image.

use std::path::{Path, PathBuf};

/// A container image that is in a directory, an archive or a registry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reference {
    pub(super) form: Form,
    /// The directory or the archive; `-` is an archive on standard input.
    pub(super) path: PathBuf,
    /// The name of one of several images there.
    pub(super) tag: Option<String>,
}

/// How an image is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// A directory in the layout of OCI.
    Layout,
    /// A tar of such a directory.
    Archive,
    /// A tar as `docker save` writes it.
    Docker,
    /// A repository of a registry; the path is the whole reference.
    Registry,
}

const FORMS: [(&str, Form); 3] =
    [("oci:", Form::Layout), ("oci-archive:", Form::Archive), ("docker-archive:", Form::Docker)];

impl Reference {
    /// The reference of the form `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]` or `docker-archive:FILE[:TAG]`, as skopeo has
    /// it: a colon in the path ends it; or `docker://HOST/REPOSITORY:TAG`. `None`: it is something else.
    pub(super) fn new(text: &Path) -> Option<Self> {
        let bytes = text.as_os_str().as_encoded_bytes();
        if bytes.starts_with(b"docker://") {
            return Some(Self { form: Form::Registry, path: text.to_owned(), tag: None });
        }
        // What is in a registry by such a name is an EROFS image.
        if bytes.starts_with(b"oci://") && !bytes.starts_with(b"oci:///") {
            return None;
        }
        let prefixed =
            |(prefix, form): &(&str, Form)| Some((bytes.strip_prefix(prefix.as_bytes())?, *form));
        let (rest, form) = FORMS.iter().find_map(prefixed)?;
        let mut parts = rest.splitn(2, |byte| *byte == b':');
        let path = lith_system::path(parts.next()?).to_owned();
        let tag = parts.next().filter(|tag| !tag.is_empty());
        let tag = tag.map(|tag| String::from_utf8_lossy(tag).into_owned());
        Some(Self { form, path, tag })
    }
}

/// Whether a source is a container image: `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `docker-archive:FILE[:TAG]` or
/// `docker://HOST/REPOSITORY:TAG`.
#[must_use]
pub fn is_container(source: &Path) -> bool {
    Reference::new(source).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_those_of_skopeo() {
        let cases = [
            ("oci:a/b", Some((Form::Layout, "a/b", None))),
            ("oci:/a:v1", Some((Form::Layout, "/a", Some("v1")))),
            ("oci:a:", Some((Form::Layout, "a", None))),
            ("oci-archive:x.tar:reg/y:1", Some((Form::Archive, "x.tar", Some("reg/y:1")))),
            ("docker-archive:-", Some((Form::Docker, "-", None))),
            ("./oci:a", None),
            ("oci", None),
            ("docker://a:1", Some((Form::Registry, "docker://a:1", None))),
            ("oci://host/a:1", None),
            ("oci:///a:1", Some((Form::Layout, "///a", Some("1")))),
        ];
        for (text, expected) in cases {
            let found = Reference::new(Path::new(text));
            let expected = expected.map(|(form, path, tag): (_, &str, Option<&str>)| Reference {
                form,
                path: path.into(),
                tag: tag.map(str::to_owned),
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
