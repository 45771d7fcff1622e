//! Defines the data layouts of inodes (`EROFS_INODE_*` in `i_format`).

use super::error::InodeError;

/// How a file's data is stored.
#[derive(zerocopy::TryFromBytes, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Layout {
    /// Contiguous blocks.
    FlatPlain = 0,
    /// Compressed, with full indexes, encoded extents, or as one fragment.
    CompressedFull = 1,
    /// Contiguous blocks, and the tail inline, after the inode.
    FlatInline = 2,
    /// Compressed, with compact indexes.
    CompressedCompact = 3,
    /// Chunks anywhere.
    ChunkBased = 4,
}

impl Layout {
    /// Whether the data is compressed.
    #[must_use]
    pub const fn is_compressed(self) -> bool {
        matches!(self, Self::CompressedFull | Self::CompressedCompact)
    }

    /// Whether the data is contiguous blocks, with or without an inline tail.
    #[must_use]
    pub const fn is_flat(self) -> bool {
        matches!(self, Self::FlatPlain | Self::FlatInline)
    }

    /// The layout's number.
    #[must_use]
    pub const fn to_raw(self) -> u8 {
        self as u8
    }
}

impl TryFrom<u8> for Layout {
    type Error = InodeError;

    fn try_from(raw: u8) -> Result<Self, InodeError> {
        zerocopy::try_transmute!(raw).map_err(|_unknown| InodeError::Layout { raw })
    }
}
