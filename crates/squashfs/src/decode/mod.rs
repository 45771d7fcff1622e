//! Decodes blocks.

mod lzma;
mod lzo;
mod zlib;

use lith_codec::Algorithm;

/// How the blocks of an image are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// A zlib stream (RFC 1950), which squashfs-tools call gzip.
    Gzip,
    /// A .lzma file.
    Lzma,
    /// An LZO1X stream.
    Lzo,
    /// An .xz file, with or without filters for machine code.
    Xz,
    /// An LZ4 block.
    Lz4,
    /// A Zstandard frame.
    Zstd,
}

impl Compression {
    /// That of a number in the superblock.
    pub(crate) const fn of(number: u16) -> Option<Self> {
        Some(match number {
            1 => Self::Gzip,
            2 => Self::Lzma,
            3 => Self::Lzo,
            4 => Self::Xz,
            5 => Self::Lz4,
            6 => Self::Zstd,
            _ => return None,
        })
    }

    /// The name for messages, as mksquashfs takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Lzma => "lzma",
            Self::Lzo => "lzo",
            Self::Xz => "xz",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Decodes a whole stream, and returns the number of decoded bytes.
    pub(crate) fn decode(self, input: &[u8], output: &mut [u8]) -> Result<usize, DecodeError> {
        let decoded = match self {
            Self::Gzip => zlib::decode(input, output),
            Self::Lzma => lzma::decode_lzma(input, output),
            Self::Lzo => lzo::decode(input, output),
            Self::Xz => lzma::decode_xz(input, output),
            Self::Lz4 => lith_codec::decode_up_to(Algorithm::Lz4, input, output).ok(),
            Self::Zstd => lith_codec::decode_up_to(Algorithm::Zstd, input, output).ok(),
        };
        let (compression, input, output) = (self.name(), input.len(), output.len());
        decoded.ok_or(DecodeError { compression, input, output })
    }
}

/// A stream that breaks the rules of its algorithm, or holds more than it may.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{compression} stream of {input} bytes is corrupt or holds more than {output} bytes")]
pub struct DecodeError {
    /// The name of the algorithm.
    pub compression: &'static str,
    /// Bytes of the stream.
    pub input: usize,
    /// The most bytes that it may hold.
    pub output: usize,
}
