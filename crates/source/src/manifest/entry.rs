//! Defines [`Entry`], what a line of any form says about a file, and parses what the forms have in common.

use lith_tree::{Metadata, Rdev, Xattr};

use super::error::ManifestProblem;

/// A file as a line describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) kind: EntryKind,
    /// Without extended attributes.
    pub(super) metadata: Metadata,
    pub(super) xattrs: Vec<Xattr>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum EntryKind {
    Directory,
    Regular {
        /// The size that it must have; `None`: any.
        size: Option<u64>,
        content: Bytes,
    },
    Symlink(Box<[u8]>),
    CharDevice(Rdev),
    BlockDevice(Rdev),
    Fifo,
    Socket,
    /// A further name of the file at a path, from the root.
    HardLink(Vec<u8>),
}

/// Where the content of a file is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Bytes {
    /// In the directory, at the file's own path.
    Own,
    /// At this path, from the directory or absolute.
    At(Vec<u8>),
    /// In the line.
    Inline(Box<[u8]>),
}

/// What a line says: the path from the root without slashes at its ends, and the file.
pub(super) type Described = (Vec<u8>, Entry);

/// A path without slashes at its ends.
pub(super) fn relative(path: &[u8]) -> Vec<u8> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    names.collect::<Vec<_>>().join(&b'/')
}

/// The text of a number in a line, in a base.
pub(super) fn number<N: TryFrom<u64>>(
    field: &[u8],
    radix: u32,
    what: &'static str,
) -> Result<N, ManifestProblem> {
    let text = str::from_utf8(field).ok().filter(|text| !text.starts_with('+'));
    let number = text.and_then(|text| u64::from_str_radix(text, radix).ok());
    let number = number.and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| ManifestProblem::field(what, field))
}

/// Seconds since 1970, negative before.
pub(super) fn seconds(field: &[u8]) -> Result<i64, ManifestProblem> {
    let text = str::from_utf8(field).ok();
    let seconds = text.and_then(|text| text.parse().ok());
    seconds.ok_or_else(|| ManifestProblem::field("time", field))
}

/// Nanoseconds of a second.
pub(super) fn nanoseconds(field: &[u8]) -> Result<u32, ManifestProblem> {
    let nsec = number(field, 10, "time")?;
    if nsec < 1_000_000_000 { Ok(nsec) } else { Err(ManifestProblem::field("time", field)) }
}
