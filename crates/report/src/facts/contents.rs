//! What was counted in an image?

use std::collections::BTreeMap;

use lith_format::file_type::FileType;
use serde::{Serialize, Serializer};

/// What is in an image.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Contents {
    /// Inodes by kind.
    #[serde(serialize_with = "by_word")]
    pub kinds: BTreeMap<FileType, u64>,
    /// Names of all inodes, without the root.
    pub names: u64,
    /// Inodes of 32 bytes.
    pub compact_inodes: u64,
    /// Inodes that have extended attributes.
    pub inodes_with_xattrs: u64,
    /// Bytes in all regular files.
    pub bytes: u64,
    /// What their data takes where it is stored.
    pub stored: u64,
    /// How much of the one the other is.
    pub ratio: Option<f64>,
    /// Data by the way it is stored.
    pub data: BTreeMap<&'static str, Tally>,
}

/// Data that is stored in one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Tally {
    /// Extents.
    pub extents: u64,
    /// Bytes in files.
    pub bytes: u64,
    /// Bytes where they are stored; what several extents share counts once.
    pub stored: u64,
}

fn by_word<S: Serializer>(
    kinds: &BTreeMap<FileType, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let words: BTreeMap<_, _> = kinds.iter().map(|(kind, count)| (kind.word(), count)).collect();
    words.serialize(serializer)
}
