//! How is libzstd called safely?

use std::cell::RefCell;
use std::ffi::{c_int, c_ulonglong, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use zstd_sys::{
    ZSTD_CCtx, ZSTD_DCtx, ZSTD_EndDirective, ZSTD_FrameHeader, ZSTD_FrameType_e,
    ZSTD_ResetDirective, ZSTD_cParameter, ZSTD_dParameter, ZSTD_inBuffer, ZSTD_outBuffer,
};

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

/// A compression context, and the room its blocks go to.
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
    /// Compresses the next `len` bytes (at most [`MAX_BLOCK`]) to whole blocks; gives the blocks,
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

/// A decompression context.
struct Decompressor {
    context: NonNull<ZSTD_DCtx>,
    /// The context is used by the thread that made it.
    _here: PhantomData<*const ()>,
}

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor>> = const { RefCell::new(None) };
}

impl Decompressor {
    fn new() -> Option<Self> {
        // SAFETY: takes nothing; returns null or a context that we own.
        let context = NonNull::new(unsafe { zstd_sys::ZSTD_createDCtx() })?;
        let made = Self { context, _here: PhantomData };
        let limit = c_int::try_from(MAX_WINDOW_LOG).ok()?;
        // SAFETY: the context is live and ours alone, with no frame begun.
        succeeded(unsafe {
            let name = ZSTD_dParameter::ZSTD_d_windowLogMax;
            zstd_sys::ZSTD_DCtx_setParameter(made.context.as_ptr(), name, limit)
        })?;
        Some(made)
    }

    /// Runs `work` with this thread's context.
    fn with<T>(work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        DECOMPRESSOR.with(|slot| {
            let mut slot = slot.try_borrow_mut().ok()?;
            if slot.is_none() {
                *slot = Self::new();
            }
            work(slot.as_mut()?)
        })
    }

    fn whole(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        // SAFETY: the context is live and exclusively borrowed; `input` is readable and `output`
        // writable for their exact lengths, and they cannot overlap (shared and exclusive borrow).
        // The library checks every length and distance of the stream, whatever the bytes are.
        succeeded(unsafe {
            zstd_sys::ZSTD_decompressDCtx(
                self.context.as_ptr(),
                output.as_mut_ptr().cast::<c_void>(),
                output.len(),
                input.as_ptr().cast::<c_void>(),
                input.len(),
            )
        })
    }

    fn partial(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        let mut from = ZSTD_inBuffer { src: input.as_ptr().cast(), size: input.len(), pos: 0 };
        let mut to = ZSTD_outBuffer { dst: output.as_mut_ptr().cast(), size: output.len(), pos: 0 };
        let only = ZSTD_ResetDirective::ZSTD_reset_session_only;
        // SAFETY: the context is live and exclusively borrowed. Resetting a session cannot fail.
        unsafe { zstd_sys::ZSTD_DCtx_reset(self.context.as_ptr(), only) };
        while to.pos < to.size {
            let before = (from.pos, to.pos);
            // SAFETY: as in `whole`; both descriptions keep their addresses and lengths, and the
            // library moves each `pos` only forward and never beyond `size`.
            let hint = succeeded(unsafe {
                zstd_sys::ZSTD_decompressStream(self.context.as_ptr(), &raw mut to, &raw mut from)
            })?;
            if hint == 0 {
                break;
            }
            if before == (from.pos, to.pos) {
                return None;
            }
        }
        Some(to.pos)
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: made by `ZSTD_createDCtx`, owned by us, and freed once.
        unsafe { zstd_sys::ZSTD_freeDCtx(self.context.as_ptr()) };
    }
}

/// The number of bytes that the one frame `input` holds, if it is sound and they fit `output`.
///
/// Nothing may follow the frame. Its window must be within the format's limit and it must need no dictionary.
pub(crate) fn decompress(input: &[u8], output: &mut [u8]) -> Option<usize> {
    admissible(input)?;
    // SAFETY: `input` is readable for its exact length.
    let size = unsafe {
        zstd_sys::ZSTD_findFrameCompressedSize(input.as_ptr().cast::<c_void>(), input.len())
    };
    if succeeded(size)? != input.len() {
        return None;
    }
    Decompressor::with(|decompressor| decompressor.whole(input, output))
}

/// As [`decompress`], but stops when `output` is full and looks at nothing beyond.
pub(crate) fn decompress_partial(input: &[u8], output: &mut [u8]) -> Option<usize> {
    admissible(input)?;
    Decompressor::with(|decompressor| decompressor.partial(input, output))
}

/// Does `input` begin with the header of a frame that may be decoded?
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

/// What a call returned, unless it is an error code.
fn succeeded(result: usize) -> Option<usize> {
    // SAFETY: a function of its argument alone.
    let failed = unsafe { zstd_sys::ZSTD_isError(result) } != 0;
    (!failed).then_some(result)
}
