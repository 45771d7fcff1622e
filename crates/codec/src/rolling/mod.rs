//! How are bytes passed over that nobody asked for, without room for all of them?

mod lz4;

use crate::decode::{DecodeError, check};
use crate::ffi::{lzma, zstd};
use crate::{Algorithm, deflate};

/// The farthest that an LZ4 match reaches back, made round.
const REACH: usize = 64 << 10;
/// Bytes decoded between two moves of the window.
const STEP: usize = 64 << 10;
/// Bytes behind that which short copies may spoil.
const SPARE: usize = 64;
/// Bytes of a window's buffer.
const BUFFER: usize = REACH + STEP + SPARE;

/// The memory that unwanted bytes cycle through: 128 KiB and a little, made at first use and good for any stream.
#[derive(Debug, Default)]
pub struct Window {
    buffer: Vec<u8>,
}

impl Window {
    /// A window without memory yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { buffer: Vec::new() }
    }

    fn buffer(&mut self) -> &mut [u8] {
        self.buffer.resize(BUFFER, 0);
        &mut self.buffer
    }
}

/// Decodes the `output.len()` bytes behind the first `skip` of a stream that may hold more.
///
/// The first `skip` bytes only pass through `window`, whose contents before and after mean nothing. LZ4 needs no other
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

/// Lets a decoder fill `sink` until `skip` bytes went there, then `output`; the number of all bytes.
///
/// `fill` gives the number of bytes that it decoded, fewer than it was given room for at the end of the stream only.
pub(crate) fn skipping(
    skip: usize,
    output: &mut [u8],
    sink: &mut [u8],
    mut fill: impl FnMut(&mut [u8]) -> Option<usize>,
) -> Option<usize> {
    let mut left = skip;
    while left > 0 {
        let length = left.min(sink.len());
        let room = sink.get_mut(..length).filter(|room| !room.is_empty())?;
        let decoded = fill(room)?;
        left = left.checked_sub(decoded)?;
        if decoded < length {
            return Some(skip - left);
        }
    }
    Some(skip + fill(output)?)
}
