//! What do the parts of an [`crate::Encoder`] do by themselves? For tests and examples only.

use crate::Fit;
use crate::ffi::{deflate as ffi_deflate, lzma as ffi_lzma};
use crate::{Compressor, LzmaBits, LzmaEffort, deflate, lzma};

/// A MicroLZMA encoder.
#[derive(Debug)]
pub struct Lzma(lzma::Lzma);

impl Lzma {
    /// Level `level` for pclusters of `pcluster` bytes.
    #[must_use]
    pub fn new(level: u8, extreme: bool, pcluster: usize) -> Self {
        let pcluster = u32::try_from(pcluster).unwrap_or(u32::MAX);
        let dictionary = Compressor::Lzma(LzmaEffort::new(level)).window(pcluster);
        Self(lzma::Lzma::new(&lzma::Params { level, extreme, dictionary, bits: None }))
    }

    /// As `new`, with a dictionary and `[lc, lp, pb]`.
    #[must_use]
    pub fn with(level: u8, dictionary: u32, [lc, lp, pb]: [u8; 3]) -> Self {
        let params =
            lzma::Params { level, extreme: false, dictionary, bits: Some(LzmaBits { lc, lp, pb }) };
        Self(lzma::Lzma::new(&params))
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

/// A DEFLATE encoder.
#[derive(Debug)]
pub struct Deflate(deflate::Deflate);

impl Deflate {
    /// Level `level`, 1 to 12.
    #[must_use]
    pub fn new(level: u8) -> Self {
        Self(deflate::Deflate::new(level))
    }

    /// Fills `output`.
    pub fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Fit {
        self.0.fill(input, output)
    }
}

/// Decodes a whole DEFLATE stream.
#[must_use]
pub fn inflate(input: &[u8], output: &mut [u8]) -> Option<usize> {
    deflate::decompress(input, output)
}

/// Decodes the beginning of a DEFLATE stream.
#[must_use]
pub fn inflate_partial(input: &[u8], output: &mut [u8]) -> Option<usize> {
    deflate::decompress_partial(input, output)
}

/// libdeflate's own whole call.
#[derive(Debug)]
pub struct Libdeflate(Option<ffi_deflate::Compressor>);

impl Libdeflate {
    /// Level `level`, 1 to 12.
    #[must_use]
    pub fn new(level: u8) -> Self {
        Self(ffi_deflate::Compressor::new(level))
    }

    /// Compresses all of `input`, if it fits.
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        self.0.as_mut()?.compress(input, output)
    }
}
