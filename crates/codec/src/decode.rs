//! Decodes pclusters, whole or their first bytes.

use crate::Algorithm;
use crate::deflate;
use crate::ffi::{lz4, lzma, zstd};

/// Why a stream could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The first block has no byte of a stream.
    #[error("the first {block} bytes of a compressed pcluster are all zero")]
    AllPadding {
        /// Bytes examined.
        block: usize,
    },
    /// The stream breaks the rules of its algorithm, or holds more than expected.
    #[error("{algorithm} stream of {input} bytes is corrupt or holds more than {output} bytes")]
    Corrupt {
        /// The algorithm.
        algorithm: Algorithm,
        /// Length of the stream.
        input: usize,
        /// Bytes expected.
        output: usize,
    },
    /// The stream is sound but ends early.
    #[error("{algorithm} stream holds {found} bytes where {expected} were expected")]
    TooShort {
        /// The algorithm.
        algorithm: Algorithm,
        /// Bytes expected.
        expected: usize,
        /// Bytes the stream held.
        found: usize,
    },
    /// A stream can't be decoded in place: not with its algorithm, or the buffer lacks the margin for it.
    #[error(
        "{algorithm} stream of {input} bytes can't be decoded to {output} in place in {buffer} bytes"
    )]
    NotInPlace {
        /// The algorithm.
        algorithm: Algorithm,
        /// Length of the stream.
        input: usize,
        /// Bytes expected.
        output: usize,
        /// Bytes of the buffer that holds both.
        buffer: usize,
    },
}

/// Decodes a whole stream, which must hold exactly `output.len()` bytes.
///
/// # Errors
/// [`DecodeError::Corrupt`] or `TooShort` for a stream that does not hold what is expected; the contents of `output` are unspecified then.
pub fn decode(algorithm: Algorithm, input: &[u8], output: &mut [u8]) -> Result<(), DecodeError> {
    let decoded = whole(algorithm, input, output);
    check(algorithm, decoded, input.len(), output.len())
}

/// Decodes a whole stream, which holds at most `output.len()` bytes, and returns their number.
///
/// # Errors
/// [`DecodeError::Corrupt`] for a stream that is not sound or holds more; the contents of `output` are unspecified then.
pub fn decode_up_to(
    algorithm: Algorithm,
    input: &[u8],
    output: &mut [u8],
) -> Result<usize, DecodeError> {
    let corrupt = DecodeError::Corrupt { algorithm, input: input.len(), output: output.len() };
    whole(algorithm, input, output).ok_or(corrupt)
}

fn whole(algorithm: Algorithm, input: &[u8], output: &mut [u8]) -> Option<usize> {
    match algorithm {
        Algorithm::Lz4 => lz4::decompress(input, output),
        Algorithm::Lzma => lzma::decompress(input, output),
        Algorithm::Deflate => deflate::decompress(input, output),
        Algorithm::Zstd => zstd::decompress(input, output),
    }
}

/// Decodes the first `output.len()` bytes of a stream that may hold more.
///
/// The rest of the stream is not examined, so damage there goes unnoticed.
///
/// # Errors
/// As [`decode`].
pub fn decode_partial(
    algorithm: Algorithm,
    input: &[u8],
    output: &mut [u8],
) -> Result<(), DecodeError> {
    let decoded = match algorithm {
        Algorithm::Lz4 => lz4::decompress_partial(input, output),
        Algorithm::Lzma => lzma::decompress_rolling(input, 0, output, &mut []),
        Algorithm::Deflate => deflate::decompress_rolling(input, 0, output, &mut []),
        Algorithm::Zstd => zstd::decompress_rolling(input, 0, output, &mut []),
    };
    check(algorithm, decoded, input.len(), output.len())
}

/// The stream inside a right-aligned pcluster: `pcluster` without its leading zero bytes.
///
/// Padding is only in the first `block_size` bytes, as in the kernel.
///
/// # Errors
/// [`DecodeError::AllPadding`] if the first block holds nothing else.
pub fn strip_padding(pcluster: &[u8], block_size: usize) -> Result<&[u8], DecodeError> {
    let block = block_size.min(pcluster.len());
    let stream = pcluster.iter().take(block).position(|&byte| byte != 0);
    stream.and_then(|start| pcluster.get(start..)).ok_or(DecodeError::AllPadding { block })
}

/// Compares the number of decoded bytes with the expected one.
pub(crate) fn check(
    algorithm: Algorithm,
    decoded: Option<usize>,
    input: usize,
    output: usize,
) -> Result<(), DecodeError> {
    match decoded {
        Some(found) if found == output => Ok(()),
        Some(found) => Err(DecodeError::TooShort { algorithm, expected: output, found }),
        None => Err(DecodeError::Corrupt { algorithm, input, output }),
    }
}
