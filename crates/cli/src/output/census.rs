//! How is what an image holds described?

use std::{collections::BTreeMap, fmt};

use lith::format::file_type::FileType;
use serde::Serialize;

use super::{
    attributes::kind_name,
    number::{Bytes, Count, Share, ratio},
    record,
};

/// What is in an image.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// Inodes by kind.
    pub(crate) kinds: BTreeMap<FileType, u64>,
    /// Names of all inodes, without the root.
    pub(crate) names: u64,
    /// Inodes of 32 bytes.
    pub(crate) compact: u64,
    /// Inodes that have extended attributes.
    pub(crate) with_xattrs: u64,
    /// Bytes in all regular files.
    pub(crate) bytes: u64,
    /// Data by the way it is stored.
    pub(crate) data: BTreeMap<&'static str, Tally>,
}

/// Data that is stored in one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct Tally {
    /// Extents.
    pub(crate) extents: u64,
    /// Bytes in files.
    pub(crate) bytes: u64,
    /// Bytes where they are stored; what several extents share counts once.
    pub(crate) stored: u64,
}

/// What is told of that.
#[derive(Serialize)]
pub(crate) struct Contents {
    kinds: BTreeMap<&'static str, u64>,
    names: u64,
    compact_inodes: u64,
    inodes_with_xattrs: u64,
    bytes: u64,
    stored: u64,
    ratio: Option<f64>,
    data: BTreeMap<&'static str, Tally>,
    /// The kinds in words.
    #[serde(skip)]
    kinds_text: String,
}

impl From<Census> for Contents {
    fn from(census: Census) -> Self {
        let stored = census.data.values().fold(0, |sum: u64, t| sum.saturating_add(t.stored));
        let kinds = census.kinds.iter();
        let words = kinds.clone().map(|(kind, count)| match kind_name(*kind) {
            "directory" if *count != 1 => format!("{count} directories"),
            name => Count(*count, name).to_string(),
        });
        Self {
            kinds_text: words.collect::<Vec<_>>().join(", "),
            kinds: kinds.map(|(kind, count)| (record::kind(*kind), *count)).collect(),
            names: census.names,
            compact_inodes: census.compact,
            inodes_with_xattrs: census.with_xattrs,
            bytes: census.bytes,
            stored,
            ratio: ratio(stored, census.bytes),
            data: census.data,
        }
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nholds       {}", self.kinds_text)?;
        writeln!(
            f,
            "            {} below the root; {}, {} with extended attributes",
            Count(self.names, "name"),
            Count(self.compact_inodes, "compact inode"),
            self.inodes_with_xattrs,
        )?;
        let share = Share(self.stored, self.bytes);
        writeln!(
            f,
            "content     {}, stored in {}: {share}",
            Bytes(self.bytes),
            Bytes(self.stored)
        )?;
        writeln!(
            f,
            "\nstored as   {:>10} {:>16} {:>16} {:>9}",
            "extents", "bytes", "stored", "share"
        )?;
        for (name, Tally { extents, bytes, stored }) in &self.data {
            let share = Share(*stored, *bytes).to_string();
            writeln!(f, "{name:<11} {extents:>10} {bytes:>16} {stored:>16} {share:>9}")?;
        }
        Ok(())
    }
}
