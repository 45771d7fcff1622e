//! Wraps libdeflate in safe types.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::NonNull;

use libdeflate_sys::{
    libdeflate_alloc_compressor, libdeflate_alloc_decompressor, libdeflate_compressor,
    libdeflate_decompressor, libdeflate_deflate_compress, libdeflate_deflate_compress_bound,
    libdeflate_deflate_decompress_ex, libdeflate_free_compressor, libdeflate_free_decompressor,
    libdeflate_result_LIBDEFLATE_SUCCESS as SUCCESS,
};

use crate::kept::{self, Kept};

/// The highest level of libdeflate.
const MAX_LEVEL: u8 = 12;

/// A compressor of one level with the memory it works in.
#[derive(Debug)]
pub(crate) struct Compressor(NonNull<libdeflate_compressor>);

// SAFETY: the pointer is an ordinary allocation that belongs to no thread, and nothing else points to it.
unsafe impl Send for Compressor {}

impl Compressor {
    /// A compressor of a level from 1 to 12; `None` if there is no memory for it.
    pub(crate) fn new(level: u8) -> Option<Self> {
        let level = c_int::from(level.clamp(1, MAX_LEVEL));
        // SAFETY: the function takes a number only; it returns null or an allocation to be freed once.
        NonNull::new(unsafe { libdeflate_alloc_compressor(level) }).map(Self)
    }

    /// Most bytes that a stream for `len` bytes takes.
    pub(crate) fn bound(&mut self, len: usize) -> usize {
        // SAFETY: the compressor is live and exclusively borrowed.
        unsafe { libdeflate_deflate_compress_bound(self.0.as_ptr(), len) }
    }

    /// The length of the raw stream written into `output`, if it fits.
    pub(crate) fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        // SAFETY: the compressor is live and exclusively borrowed; `input` is readable and `output`
        // writable for exactly the lengths given, and they cannot overlap (shared and exclusive borrow).
        // The function keeps no pointer to either.
        let written = unsafe {
            libdeflate_deflate_compress(
                self.0.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                output.as_mut_ptr().cast(),
                output.len(),
            )
        };
        (written != 0).then_some(written)
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: the compressor came from `libdeflate_alloc_compressor` and is freed here only.
        unsafe { libdeflate_free_compressor(self.0.as_ptr()) }
    }
}

/// The tables of a decoder; they stay with the thread that made them.
struct Decompressor(NonNull<libdeflate_decompressor>);

thread_local! {
    static DECOMPRESSOR: Kept<Decompressor> = const { Cell::new(None) };
}

impl Decompressor {
    fn new() -> Option<Self> {
        // SAFETY: the function takes nothing; it returns null or an allocation to be freed once.
        NonNull::new(unsafe { libdeflate_alloc_decompressor() }).map(Self)
    }

    fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        let (mut read, mut written) = (0, 0);
        // SAFETY: the decompressor is live and exclusively borrowed; `input` is readable and `output` writable for
        // exactly the lengths given and cannot overlap; the two counts are live, exclusive integers. The function
        // checks every length and distance of the stream against these bounds, whatever the bytes are, and
        // makes its tables anew for each stream.
        let result = unsafe {
            libdeflate_deflate_decompress_ex(
                self.0.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                output.as_mut_ptr().cast(),
                output.len(),
                &raw mut read,
                &raw mut written,
            )
        };
        (result == SUCCESS && read == input.len()).then_some(written)
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: the decompressor came from `libdeflate_alloc_decompressor` and is freed here only.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

/// The number of bytes that the whole stream `input` decodes to, if it is sound, ends with `input` and its bytes
/// fit `output`.
pub(crate) fn decompress(input: &[u8], output: &mut [u8]) -> Option<usize> {
    kept::with(&DECOMPRESSOR, Decompressor::new, |_| true, |made| made.decompress(input, output))
}
