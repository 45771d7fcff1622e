//! Wraps libzstd's encoder in safe types.

mod decode;

use std::ffi::{c_int, c_ulonglong};
use std::ptr::NonNull;

use zstd_sys::{
    ZSTD_CCtx, ZSTD_EndDirective, ZSTD_ResetDirective, ZSTD_cParameter, ZSTD_inBuffer,
    ZSTD_outBuffer,
};

pub(crate) use decode::{decompress, decompress_in_place, decompress_rolling, margin};

/// The format's widest window: 1 MiB.
pub(crate) const MAX_WINDOW_LOG: u32 = 20;
/// The most content of one block (`ZSTD_BLOCKSIZE_MAX`).
pub(crate) const MAX_BLOCK: usize = 128 << 10;
/// Header of a frame without magic, content size, dictionary and checksum: descriptor and window.
const BARE_HEADER: usize = 2;

/// `ZSTD_c_format` and its value `ZSTD_f_zstd1_magicless`: frames begin without the magic number.
const FORMAT: (ZSTD_cParameter, c_int) = (ZSTD_cParameter::ZSTD_c_experimentalParam2, 1);
/// `ZSTD_c_stableInBuffer`: the input stays where it is, so no copy of it is made.
const STABLE_INPUT: (ZSTD_cParameter, c_int) = (ZSTD_cParameter::ZSTD_c_experimentalParam9, 1);
const NO_CONTENT_SIZE: (ZSTD_cParameter, c_int) = (ZSTD_cParameter::ZSTD_c_contentSizeFlag, 0);

/// How a [`Compressor`] works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// Compression level, -7 to 22.
    pub(crate) level: c_int,
    /// Longest match distance, as a power of two.
    pub(crate) window_log: u32,
    /// About how much content a frame will have; sizes the tables.
    pub(crate) content: usize,
}

/// A compression context, and the buffer for its blocks.
#[derive(Debug)]
pub(crate) struct Compressor {
    context: NonNull<ZSTD_CCtx>,
    blocks: Vec<u8>,
}

// SAFETY: a context is plain memory without ties to the thread that made it; it is used only through
// exclusive borrows.
unsafe impl Send for Compressor {}

impl Compressor {
    /// A context with `parameters`; `None` if there is no memory for it.
    pub(crate) fn new(parameters: Parameters) -> Option<Self> {
        // SAFETY: takes nothing; returns null or a context that we own.
        let context = NonNull::new(unsafe { zstd_sys::ZSTD_createCCtx() })?;
        // SAFETY: a function of its argument alone.
        let room = unsafe { zstd_sys::ZSTD_compressBound(MAX_BLOCK) } + BARE_HEADER;
        let mut made = Self { context, blocks: vec![0; room] };
        made.configure(parameters)?;
        Some(made)
    }

    fn configure(&mut self, parameters: Parameters) -> Option<()> {
        // SAFETY: a function of its arguments alone.
        let mut library = unsafe {
            let content = c_ulonglong::try_from(parameters.content).ok()?;
            zstd_sys::ZSTD_getCParams(parameters.level, content, 0)
        };
        library.windowLog = parameters.window_log;
        // SAFETY: the context is live and exclusively borrowed, with no frame begun.
        succeeded(unsafe { zstd_sys::ZSTD_CCtx_setCParams(self.context.as_ptr(), library) })?;
        for parameter in [FORMAT, STABLE_INPUT, NO_CONTENT_SIZE] {
            self.set(parameter)?;
        }
        Some(())
    }

    fn set(&mut self, (name, value): (ZSTD_cParameter, c_int)) -> Option<()> {
        // SAFETY: as in `configure`; values out of range are refused with an error.
        let result =
            unsafe { zstd_sys::ZSTD_CCtx_setParameter(self.context.as_ptr(), name, value) };
        succeeded(result).map(drop)
    }

    /// Begins a frame over `input`, forgetting an earlier one.
    pub(crate) fn frame<'a>(&'a mut self, input: &'a [u8]) -> Frame<'a> {
        let only = ZSTD_ResetDirective::ZSTD_reset_session_only;
        // SAFETY: the context is live and exclusively borrowed. Resetting a session cannot fail.
        unsafe { zstd_sys::ZSTD_CCtx_reset(self.context.as_ptr(), only) };
        Frame { compressor: self, input, at: 0 }
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: made by `ZSTD_createCCtx`, owned by us, and freed once.
        unsafe { zstd_sys::ZSTD_freeCCtx(self.context.as_ptr()) };
    }
}

/// A frame that grows over its input.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    compressor: &'a mut Compressor,
    /// Borrowed as long as the frame lives: the context keeps its address between calls.
    input: &'a [u8],
    /// Bytes of `input` in blocks so far.
    at: usize,
}

impl Frame<'_> {
    /// Compresses the next `len` bytes (at most [`MAX_BLOCK`]) to whole blocks; returns the blocks,
    /// none of which is marked as last.
    pub(crate) fn append(&mut self, len: usize) -> Option<&[u8]> {
        let first = self.at == 0;
        let size = self.at.checked_add(len.min(MAX_BLOCK))?.min(self.input.len());
        let mut input = ZSTD_inBuffer { src: self.input.as_ptr().cast(), size, pos: self.at };
        let blocks = &mut self.compressor.blocks;
        let mut output =
            ZSTD_outBuffer { dst: blocks.as_mut_ptr().cast(), size: blocks.len(), pos: 0 };
        // SAFETY: the context is live and exclusively borrowed. `input` describes initialised bytes
        // of a slice that outlives `self`; its address is the same in every call of this frame and its
        // `pos` goes on where the last call ended, as a stable input must. What earlier frames were
        // given may be gone, but `frame` reset the session, after which the library reads none of it.
        // `output` describes the whole of `blocks`, which no other argument overlaps.
        let result = unsafe {
            zstd_sys::ZSTD_compressStream2(
                self.compressor.context.as_ptr(),
                &raw mut output,
                &raw mut input,
                ZSTD_EndDirective::ZSTD_e_flush,
            )
        };
        if succeeded(result)? != 0 || input.pos != size {
            return None;
        }
        self.at = size;
        let written = self.compressor.blocks.get(..output.pos)?;
        if first { written.get(BARE_HEADER..) } else { Some(written) }
    }
}

/// What a call returned, unless it is an error code.
fn succeeded(result: usize) -> Option<usize> {
    // SAFETY: a function of its argument alone.
    let failed = unsafe { zstd_sys::ZSTD_isError(result) } != 0;
    (!failed).then_some(result)
}
