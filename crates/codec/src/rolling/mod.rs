//! How are bytes decoded that follow others, without memory for all of them?
//!
//! [`decode_rolling`] lets the others pass through a window.

mod lz4;
mod window;

pub use window::Window;

use crate::decode::{DecodeError, check};
use crate::ffi::{lzma, zstd};
use crate::{Algorithm, deflate};

/// Decodes the `output.len()` bytes after the first `skip` of a stream that may hold more.
///
/// The first `skip` bytes only pass through `window`, whose contents before and after have no meaning. LZ4 needs no other
/// memory; the other decoders have windows of their own, as large as their streams reach back: 32 KiB for DEFLATE,
/// at most 1 MiB for zstd, 8 MiB for LZMA.
///
/// # Errors
/// As [`decode`](crate::decode()), `output` of the error being all bytes up to the last one wanted.
pub fn decode_rolling(
    algorithm: Algorithm,
    input: &[u8],
    skip: usize,
    output: &mut [u8],
    window: &mut Window,
) -> Result<(), DecodeError> {
    let wanted = skip.saturating_add(output.len());
    let buffer = window.buffer();
    let decoded = match algorithm {
        Algorithm::Lz4 => lz4::decompress_rolling(input, skip, output, buffer),
        Algorithm::Lzma => lzma::decompress_rolling(input, skip, output, buffer),
        Algorithm::Deflate => deflate::decompress_rolling(input, skip, output, buffer),
        Algorithm::Zstd => zstd::decompress_rolling(input, skip, output, buffer),
    };
    check(algorithm, decoded, input.len(), wanted)
}
