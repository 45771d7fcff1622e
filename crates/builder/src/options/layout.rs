//! Defines [`LayoutOptions`]: where and in which units blocks are stored.

use lith_format::addr::BlockBits;

use super::chunks::Chunks;

/// Where and in which units blocks are stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct LayoutOptions {
    /// The block size.
    pub block: BlockBits,
    /// Whether the end of an uncompressed file, less than a block, is stored inline next to its inode where it fits.
    pub inline_data: bool,
    /// The chunks of uncompressed files. `None`: each such file is contiguous.
    pub chunks: Option<Chunks>,
    /// Whether equal files, or equal chunks, are stored once.
    pub share_duplicates: bool,
    /// Whether the image has the 48-bit layout: block addresses beyond 2^32, compact inodes with times of their own, and
    /// extent records where they are the smallest index.
    pub wide: bool,
    /// Whether directories omit their entry `.`, which only the 48-bit layout allows.
    pub dot_omitted: bool,
    /// The first block that may hold file content; blocks before it stay free.
    pub data_start: u64,
    /// Whether the metadata is stored before the content of files, so that an image can be read while it arrives. Fragments, and
    /// with them small files, come last.
    pub metadata_first: bool,
    /// The blocks of each file start at a multiple of this many blocks. In chunk-based files each chunk does, unless it
    /// is smaller than that.
    pub alignment: u32,
    /// The image's number of blocks is a multiple of this.
    pub size_alignment: u64,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        Self {
            block: BlockBits::DEFAULT,
            inline_data: true,
            chunks: None,
            share_duplicates: true,
            wide: false,
            dot_omitted: false,
            data_start: 0,
            metadata_first: false,
            alignment: 1,
            size_alignment: 1,
        }
    }
}
