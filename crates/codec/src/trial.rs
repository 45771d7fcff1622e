//! What do the encoders and decoders do that are not wired in yet? For tests and examples only.

use crate::Fit;
use crate::ffi::lzma as ffi_lzma;
use crate::lzma;

/// A MicroLZMA encoder.
#[derive(Debug)]
pub struct Lzma(lzma::Lzma);

impl Lzma {
    /// Level `level` for pclusters of `pcluster` bytes.
    #[must_use]
    pub fn new(level: u8, extreme: bool, pcluster: usize) -> Self {
        Self(lzma::Lzma::new(&lzma::Params { extreme, ..lzma::Params::new(level, pcluster) }))
    }

    /// As `new`, with a dictionary and `[lc, lp, pb]`.
    #[must_use]
    pub fn with(level: u8, dictionary: u32, [lc, lp, pb]: [u8; 3]) -> Self {
        Self(lzma::Lzma::new(&lzma::Params {
            dictionary,
            lc,
            lp,
            pb,
            ..lzma::Params::new(level, 0)
        }))
    }

    /// Fills `output`.
    pub fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Fit {
        self.0.fill(input, output)
    }
}

/// Decodes a whole MicroLZMA stream.
#[must_use]
pub fn unlzma(input: &[u8], output: &mut [u8]) -> Option<usize> {
    ffi_lzma::decompress(input, output)
}

/// Decodes the beginning of a MicroLZMA stream.
#[must_use]
pub fn unlzma_partial(input: &[u8], output: &mut [u8]) -> Option<usize> {
    ffi_lzma::decompress_partial(input, output)
}
