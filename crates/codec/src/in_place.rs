//! Decodes streams in place: into the buffer that holds them.

use std::ops::Range;

use crate::Algorithm;
use crate::decode::{DecodeError, check};
use crate::ffi::{lz4, zstd};

/// The longest header and the checksum of a zstd frame.
const FRAME: usize = 18 + 4;
/// The header of a zstd block.
const BLOCK_HEADER: usize = 3;
/// What the blocks of a zstd frame hold at least on average, but for the last, for its margin to do.
const USUAL_BLOCK: usize = 1024;

/// Bytes that a buffer should have beyond `output`, so that a stream of `input` bytes at its end can be decoded to its
/// first `output` bytes; it must hold the stream anyway. `None` if the algorithm can't.
///
/// With LZ4 so many do for every stream. A zstd frame of very short blocks takes more.
#[must_use]
pub fn in_place_margin(algorithm: Algorithm, input: usize, output: usize) -> Option<usize> {
    match algorithm {
        Algorithm::Lz4 => Some(lz4::margin(input)),
        Algorithm::Zstd => {
            let headers = output.div_ceil(USUAL_BLOCK).saturating_mul(BLOCK_HEADER);
            Some(headers.saturating_add(FRAME + zstd::MAX_BLOCK))
        }
        Algorithm::Lzma | Algorithm::Deflate => None,
    }
}

/// Decodes the stream in `buffer[input]`, which must end with the buffer and hold exactly `output` bytes, to the
/// first `output` bytes of the buffer.
///
/// # Errors
/// [`DecodeError::NotInPlace`], with the buffer unchanged, if the margin ([`in_place_margin`]) is missing or the
/// algorithm can't; otherwise as [`decode`](crate::decode()), after which the buffer may hold anything, the
/// stream's place included.
pub fn decode_in_place(
    algorithm: Algorithm,
    buffer: &mut [u8],
    input: Range<usize>,
    output: usize,
) -> Result<(), DecodeError> {
    let length = buffer.len();
    let refused = DecodeError::NotInPlace { algorithm, input: input.len(), output, buffer: length };
    let stream =
        buffer.get(input.clone()).filter(|_| input.end == length).ok_or(refused.clone())?;
    let margin = match algorithm {
        Algorithm::Lz4 => Some(lz4::margin(stream.len())),
        // What is no frame has no margin, but a name for what it is.
        Algorithm::Zstd => Some(zstd::margin(stream).unwrap_or(0)),
        Algorithm::Lzma | Algorithm::Deflate => None,
    };
    let needed = margin.and_then(|margin| output.checked_add(margin));
    if needed.is_none_or(|needed| needed > length) {
        return Err(refused);
    }
    let decoded = match algorithm {
        Algorithm::Lz4 => lz4::decompress_in_place(buffer, input.start, output),
        Algorithm::Zstd => zstd::decompress_in_place(buffer, input.start, output),
        Algorithm::Lzma | Algorithm::Deflate => None,
    };
    check(algorithm, decoded, input.len(), output)
}
