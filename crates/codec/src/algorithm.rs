//! Defines the compression algorithms of the EROFS format.

use std::fmt;

/// A compression algorithm of the EROFS format.
///
/// Mirrors the format, so it may be matched exhaustively: a new one is a change that every reader must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// LZ4 block format, written by the `lz4` and `lz4hc` encoders alike.
    Lz4,
    /// MicroLZMA: a headerless LZMA1 stream.
    Lzma,
    /// Raw DEFLATE without zlib or gzip wrapper.
    Deflate,
    /// One Zstandard frame.
    Zstd,
}

impl Algorithm {
    /// The lower-case name that options and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lz4 => "lz4",
            Self::Lzma => "lzma",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
