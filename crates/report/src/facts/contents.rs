//! Defines [`Contents`]: what was counted in an image.

use std::collections::BTreeMap;

use lith_format::file_type::FileType;
use serde::{Serialize, Serializer};

/// What is in an image.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Contents {
    /// Inodes by kind.
    #[serde(serialize_with = "by_kind")]
    pub kinds: BTreeMap<FileType, u64>,
    /// Names of all inodes, except the root.
    pub names: u64,
    /// Inodes of 32 bytes.
    pub compact_inodes: u64,
    /// Inodes that have extended attributes.
    pub inodes_with_xattrs: u64,
    /// Bytes in all regular files.
    pub bytes: u64,
    /// The stored bytes of their data.
    pub stored: u64,
    /// `stored` divided by `bytes`.
    pub ratio: Option<f64>,
    /// Data by how it is stored.
    pub data: BTreeMap<&'static str, Tally>,
}

/// Data that is stored in one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Tally {
    /// Extents.
    pub extents: u64,
    /// Bytes in files.
    pub bytes: u64,
    /// Stored bytes; those that several extents share count once.
    pub stored: u64,
}

fn by_kind<S: Serializer>(
    kinds: &BTreeMap<FileType, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let names: BTreeMap<_, _> = kinds.iter().map(|(kind, count)| (kind.word(), count)).collect();
    names.serialize(serializer)
}
