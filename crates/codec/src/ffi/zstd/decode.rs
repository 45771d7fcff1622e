//! Wraps libzstd's decoder in safe functions.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use zstd_sys::{
    ZSTD_DCtx, ZSTD_FrameHeader, ZSTD_FrameType_e, ZSTD_ResetDirective, ZSTD_dParameter,
    ZSTD_inBuffer, ZSTD_outBuffer,
};

use super::{MAX_WINDOW_LOG, succeeded};
use crate::kept::{self, Kept};
use crate::skip::skipping;

/// A decompression context; it stays with the thread that made it, and holds at most 1.5 MiB: the format's widest window,
/// three blocks and its tables.
struct Decompressor(NonNull<ZSTD_DCtx>);

thread_local! {
    static DECOMPRESSOR: Kept<Decompressor> = const { Cell::new(None) };
}

impl Decompressor {
    fn new() -> Option<Self> {
        // SAFETY: takes nothing; returns null or a context that we own.
        let made = Self(NonNull::new(unsafe { zstd_sys::ZSTD_createDCtx() })?);
        let limit = c_int::try_from(MAX_WINDOW_LOG).ok()?;
        // SAFETY: the context is live and ours alone, with no frame begun.
        succeeded(unsafe {
            let name = ZSTD_dParameter::ZSTD_d_windowLogMax;
            zstd_sys::ZSTD_DCtx_setParameter(made.0.as_ptr(), name, limit)
        })?;
        Some(made)
    }

    /// Runs `work` with this thread's context.
    fn with<T>(work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        kept::with(&DECOMPRESSOR, Self::new, |_| true, work)
    }

    fn whole(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        // SAFETY: the context is live and exclusively borrowed; `input` is readable and `output`
        // writable for their exact lengths, and they cannot overlap (shared and exclusive borrow).
        // The library checks every length and distance of the stream, whatever the bytes are.
        succeeded(unsafe {
            zstd_sys::ZSTD_decompressDCtx(
                self.0.as_ptr(),
                output.as_mut_ptr().cast::<c_void>(),
                output.len(),
                input.as_ptr().cast::<c_void>(),
                input.len(),
            )
        })
    }

    /// Decodes the frame that ends `buffer` and begins at `start` to the first `output` bytes of it.
    fn in_place(&mut self, buffer: &mut [u8], start: usize, output: usize) -> Option<usize> {
        let length = buffer.len().checked_sub(start)?;
        let output = output.min(buffer.len());
        let base = buffer.as_mut_ptr();
        // SAFETY: the context is live and exclusively borrowed. Both pointers come of one exclusive borrow:
        // `output` bytes are writable at `base`, `length` bytes readable at `base + start`, both within
        // `buffer`. That they overlap is allowed: the library ends the output of a block where the
        // block's own bytes start, so it overwrites nothing that it still reads, and fails where that
        // is too short. Stored blocks it moves as `memmove` does, never to a later address. It checks
        // every length and distance of the stream, whatever the bytes are.
        succeeded(unsafe {
            zstd_sys::ZSTD_decompressDCtx(
                self.0.as_ptr(),
                base.cast::<c_void>(),
                output,
                base.add(start).cast_const().cast::<c_void>(),
                length,
            )
        })
    }

    /// Forgets what an earlier stream left.
    fn begin(&mut self) {
        let only = ZSTD_ResetDirective::ZSTD_reset_session_only;
        // SAFETY: the context is live and exclusively borrowed. Resetting a session cannot fail.
        unsafe { zstd_sys::ZSTD_DCtx_reset(self.0.as_ptr(), only) };
    }

    /// Decodes the next bytes of `unread`; returns how many, fewer than `output` has only at the frame's end, after
    /// which `unread` is `None`.
    fn fill(&mut self, unread: &mut Option<&[u8]>, output: &mut [u8]) -> Option<usize> {
        let Some(input) = *unread else { return Some(0) };
        let mut from = ZSTD_inBuffer { src: input.as_ptr().cast(), size: input.len(), pos: 0 };
        let mut to = ZSTD_outBuffer { dst: output.as_mut_ptr().cast(), size: output.len(), pos: 0 };
        while unread.is_some() && to.pos < to.size {
            let before = (from.pos, to.pos);
            // SAFETY: as in `whole`; both descriptions keep their addresses and lengths during the loop, and the
            // library moves each `pos` only forward and never beyond `size`. What it has to remember of either
            // it copies to buffers of its own.
            let hint = succeeded(unsafe {
                zstd_sys::ZSTD_decompressStream(self.0.as_ptr(), &raw mut to, &raw mut from)
            })?;
            *unread = input.get(from.pos..).filter(|_| hint != 0);
            if hint != 0 && before == (from.pos, to.pos) {
                return None;
            }
        }
        Some(to.pos)
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: made by `ZSTD_createDCtx`, owned by us, and freed once.
        unsafe { zstd_sys::ZSTD_freeDCtx(self.0.as_ptr()) };
    }
}

/// The number of bytes that the one frame `input` holds, if it is sound and they fit `output`.
///
/// Nothing may follow the frame. Its window must be within the format's limit and it must need no dictionary.
pub(crate) fn decompress(input: &[u8], output: &mut [u8]) -> Option<usize> {
    alone(input)?;
    Decompressor::with(|decompressor| decompressor.whole(input, output))
}

/// As [`decompress`], of the frame that ends `buffer` and begins at `start`, to the first `output` bytes of it.
pub(crate) fn decompress_in_place(buffer: &mut [u8], start: usize, output: usize) -> Option<usize> {
    alone(buffer.get(start..)?)?;
    Decompressor::with(|decompressor| decompressor.in_place(buffer, start, output))
}

/// Bytes that a buffer must have beyond the content of the frame `input` to decode it in place.
pub(crate) fn margin(input: &[u8]) -> Option<usize> {
    // SAFETY: `input` is readable for its exact length.
    succeeded(unsafe {
        zstd_sys::ZSTD_decompressionMargin(input.as_ptr().cast::<c_void>(), input.len())
    })
}

/// Decodes the bytes after the first `skip`, which go through `sink`, until `output` is full.
///
/// Returns the number of all decoded bytes. Nothing after them in the stream is read.
pub(crate) fn decompress_rolling(
    input: &[u8],
    skip: usize,
    output: &mut [u8],
    sink: &mut [u8],
) -> Option<usize> {
    admissible(input)?;
    Decompressor::with(|decompressor| {
        decompressor.begin();
        let mut unread = Some(input);
        skipping(skip, output, sink, |output| decompressor.fill(&mut unread, output))
    })
}

/// Checks that `input` is one frame that may be decoded and nothing else.
fn alone(input: &[u8]) -> Option<()> {
    admissible(input)?;
    // SAFETY: `input` is readable for its exact length.
    let size = unsafe {
        zstd_sys::ZSTD_findFrameCompressedSize(input.as_ptr().cast::<c_void>(), input.len())
    };
    (succeeded(size)? == input.len()).then_some(())
}

/// Checks that `input` starts with the header of a frame that may be decoded.
fn admissible(input: &[u8]) -> Option<()> {
    let mut header = ZSTD_FrameHeader {
        frameContentSize: 0,
        windowSize: 0,
        blockSizeMax: 0,
        frameType: ZSTD_FrameType_e::ZSTD_skippableFrame,
        headerSize: 0,
        dictID: 0,
        checksumFlag: 0,
        _reserved1: 0,
        _reserved2: 0,
    };
    // SAFETY: `header` is live and exclusive; `input` is readable for its exact length.
    let missing = unsafe {
        zstd_sys::ZSTD_getFrameHeader(&raw mut header, input.as_ptr().cast::<c_void>(), input.len())
    };
    let sound = succeeded(missing)? == 0
        && header.frameType == ZSTD_FrameType_e::ZSTD_frame
        && header.windowSize <= 1 << MAX_WINDOW_LOG
        && header.dictID == 0;
    sound.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compressor, Encoder};

    #[test]
    fn a_context_stays_small() {
        let compressor = Compressor::Zstd { level: 3, window: Some(1 << MAX_WINDOW_LOG) };
        let (content, mut stream) = (vec![7; 3 << 20], vec![0; 65536]);
        let fit = Encoder::new(&compressor).fill(&content, &mut stream).unwrap().unwrap();
        let stream = stream.get(..fit.written).unwrap();
        let mut output = vec![0; 2 << 20];
        assert_eq!(decompress_rolling(stream, 0, &mut output, &mut []), Some(output.len()));
        assert!(content.starts_with(&output));
        let kept = DECOMPRESSOR.take().unwrap();
        // SAFETY: the context is live; the function only reads its fields.
        let size = unsafe { zstd_sys::ZSTD_sizeof_DCtx(kept.0.as_ptr()) };
        assert!((1 << MAX_WINDOW_LOG..=3 << 19).contains(&size), "{size}");
    }
}
