//! Defines [`Report`]: facts about a finished image.

use serde::Serialize;

/// Facts about a finished image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Bytes of the image.
    pub image_bytes: u64,
    /// Bytes of the device that chunks were written to instead.
    pub blob_bytes: u64,
    /// Bytes of all files' content, each hard-linked file once.
    pub content_bytes: u64,
    /// Bytes of blocks that hold file content.
    pub data_bytes: u64,
    /// Inodes of every kind.
    pub inodes: u64,
    /// Regular files.
    pub files: u64,
    /// Regular files that are compressed.
    pub compressed_files: u64,
    /// Regular files that have holes.
    pub sparse_files: u64,
    /// Inodes of 32 bytes; all others have 64.
    pub compact_inodes: u64,
    /// Extended attributes that inodes share.
    pub shared_xattrs: u64,
}
