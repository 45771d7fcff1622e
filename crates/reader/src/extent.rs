//! Defines an extent of a file, and how and where its bytes are stored.

use lith_format::{compression::Algorithm, device_table::DevicePa};

use crate::piece::Space;

/// A range of a file's bytes that is stored in one way and at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Its first byte in the file.
    pub la: u64,
    /// Its bytes in the file, at least 1.
    pub len: u64,
    /// How it is stored.
    pub kind: ExtentKind,
    /// Where it is stored.
    pub place: Place,
    /// Its stored bytes; 0 for a hole.
    pub plen: u64,
}

/// How the bytes of an extent are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtentKind {
    /// Not at all: zeros.
    Hole,
    /// Uncompressed, in contiguous blocks.
    Flat,
    /// Uncompressed, in the inline tail after the inode.
    Inline,
    /// Uncompressed, in chunks.
    Chunk,
    /// Uncompressed, in a compressed file.
    Plain {
        /// Rotated within the block, so that each byte keeps its offset within a block of the file.
        interlaced: bool,
    },
    /// As one compressed stream.
    Compressed {
        /// Its algorithm.
        algorithm: Algorithm,
        /// The stream may hold more than the extent.
        partial: bool,
    },
    /// In the packed inode.
    Fragment,
}

/// Where the bytes of an extent are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Nowhere: a hole.
    Nowhere,
    /// On a device.
    Device(DevicePa),
    /// In the inline tail after the inode.
    Metadata {
        /// The space in which the position is counted.
        space: Space,
        /// The first byte.
        position: u64,
    },
    /// In the content of the packed inode.
    Packed {
        /// The first byte there.
        offset: u64,
    },
}

impl ExtentKind {
    /// The kind as one word: the algorithm's name for compressed extents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hole => "hole",
            Self::Flat => "flat",
            Self::Inline => "inline",
            Self::Chunk => "chunk",
            Self::Plain { .. } => "plain",
            Self::Compressed { algorithm, .. } => algorithm.name(),
            Self::Fragment => "fragment",
        }
    }
}

impl Extent {
    /// The first byte of the file after it.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.la.saturating_add(self.len)
    }

    pub(crate) const fn hole(la: u64, len: u64) -> Self {
        Self { la, len, kind: ExtentKind::Hole, place: Place::Nowhere, plen: 0 }
    }
}
