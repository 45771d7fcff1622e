//! Defines [`CompressionOptions`]: how files, the packed inode and metadata are compressed.

use super::{method::Compression, rule::Rule};

/// Which form of index a compressed file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexForm {
    /// Compact: about 2 bytes for each lcluster.
    #[default]
    Compact,
    /// Full: 8 bytes for each lcluster.
    Full,
    /// Extent records: 16 or 32 bytes for each pcluster, in the 48-bit layout only. Files with an inline last pcluster
    /// have compact indexes.
    Records,
}

/// Which parts of files are stored in the packed inode, where they share pclusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragments {
    /// None.
    #[default]
    None,
    /// The end of a file, at most a pcluster's size of it: small files whole.
    Tails,
    /// All files whole.
    All,
}

/// How content that is read first is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heat {
    /// It is stored uncompressed.
    Raw,
    /// In another way than the rest.
    Compressed(Compression),
}

/// How files, the packed inode and metadata are compressed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CompressionOptions {
    /// The compression of files. `None`: they are stored uncompressed.
    pub files: Option<Compression>,
    /// Files with another compression, by the first rule that matches. The packed inode is compressed like
    /// [`files`](Self::files), so other files have no fragments.
    pub rules: Vec<Rule>,
    /// The compression of the ranges that [`Order`](crate::Order) names, in files to which no rule applies, and of the
    /// fragments that are read first. One file then has pclusters of two compressors.
    pub hot: Option<Heat>,
    /// Which parts of compressed files are stored in the packed inode.
    pub fragments: Fragments,
    /// The largest size of a pcluster of the packed inode in bytes. `None`: as for files.
    pub packed_pcluster: Option<u32>,
    /// The largest decoded size of an extent in bytes, at least a block. `None`: as much as fits the pcluster.
    pub max_extent: Option<u32>,
    /// The compression of inodes and what is stored next to them, in the metabox inode. `None`: they are uncompressed.
    pub metabox: Option<Compression>,
    /// Whether directories that have blocks of their own are stored in the packed inode instead. Needs fragments and a
    /// metabox.
    pub pack_directories: bool,
    /// Whether the last pcluster of a file is stored inline next to its inode where it fits (ztailpacking).
    pub tail_packing: bool,
    /// Whether repeated parts of files, within one file or across files, are stored once.
    pub dedupe: bool,
    /// The index form of compressed files.
    pub index: IndexForm,
}
