//! Defines [`Compression`]: encoder, pcluster size and least gain.

use lith_codec::Compressor;

/// How content is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// Encoder and effort.
    pub compressor: Compressor,
    /// The largest size of a pcluster in bytes, a multiple of the block size. `None`: 64 KiB, or one block if the
    /// target kernel reads no larger pclusters.
    pub pcluster: Option<u32>,
    /// The smallest part of a file that compression must save, in percent of its size. A file that saves less is stored
    /// uncompressed.
    pub min_saving: u8,
}

impl Compression {
    /// The part of a file that compression must save by default, in percent.
    pub const DEFAULT_MIN_SAVING: u8 = 2;

    /// Compression with the default pcluster size and saving.
    #[must_use]
    pub const fn new(compressor: Compressor) -> Self {
        Self { compressor, pcluster: None, min_saving: Self::DEFAULT_MIN_SAVING }
    }
}
