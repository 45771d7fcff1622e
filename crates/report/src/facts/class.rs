//! Defines [`Class`]: what bytes of a device hold.

use std::fmt;

use serde::Serialize;

/// What bytes of a device hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Class {
    /// The superblock and the compression configs.
    Superblock,
    /// The device table.
    DeviceTable,
    /// Long prefixes of xattr names.
    XattrPrefixes,
    /// Shared xattrs.
    SharedXattrs,
    /// Inodes with their xattrs, indexes and inline data.
    Inodes,
    /// Blocks of directories.
    Directories,
    /// Blocks of symlinks.
    Symlinks,
    /// Uncompressed data in contiguous blocks.
    Flat,
    /// Uncompressed data in chunks.
    Chunks,
    /// Uncompressed data of compressed files.
    Plain,
    /// LZ4 pclusters.
    Lz4,
    /// LZMA pclusters.
    Lzma,
    /// DEFLATE pclusters.
    Deflate,
    /// Zstandard pclusters.
    Zstd,
    /// The packed inode's content: fragments.
    Packed,
    /// The metabox inode's content: inodes.
    Metabox,
    /// Nothing refers to them.
    Unused,
}

impl Class {
    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Superblock => "superblock, config records",
            Self::DeviceTable => "device table",
            Self::XattrPrefixes => "xattr name prefixes",
            Self::SharedXattrs => "shared xattrs",
            Self::Inodes => "inodes, indexes, inline data",
            Self::Directories => "directories",
            Self::Symlinks => "symlinks",
            Self::Flat => "data, uncompressed",
            Self::Chunks => "data, chunks",
            Self::Plain => "data, plain",
            Self::Lz4 => "data, lz4",
            Self::Lzma => "data, lzma",
            Self::Deflate => "data, deflate",
            Self::Zstd => "data, zstd",
            Self::Packed => "packed inode (fragments)",
            Self::Metabox => "metabox (compressed inodes)",
            Self::Unused => "unused",
        }
    }
}

/// Its name in JSON, and of its style on a page.
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
