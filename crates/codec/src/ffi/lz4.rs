//! Wraps liblz4 in safe functions.

use std::ffi::{c_char, c_int, c_void};

use crate::Fit;
// Links the archive that holds the functions below; the crate itself declares only some of them.
use lz4_sys as _;

/// `LZ4_MAX_INPUT_SIZE` of lz4.h: longer inputs are refused by every encoder.
const MAX_INPUT: usize = 0x7E00_0000;

unsafe extern "C" {
    #[cfg(test)]
    fn LZ4_compress_destSize(
        src: *const c_char,
        dst: *mut c_char,
        src_size: *mut c_int,
        dst_size: c_int,
    ) -> c_int;

    fn LZ4_sizeofStateHC() -> c_int;

    fn LZ4_compress_HC_destSize(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: *mut c_int,
        dst_size: c_int,
        level: c_int,
    ) -> c_int;

    fn LZ4_decompress_safe(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
    ) -> c_int;

    fn LZ4_decompress_safe_partial(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        target_size: c_int,
        dst_capacity: c_int,
    ) -> c_int;
}

/// The working memory of the HC encoder: of the size that `LZ4_sizeofStateHC` returns, aligned as its widest
/// field (a pointer) requires.
#[derive(Debug)]
pub(crate) struct HcState(Box<[u64]>);

impl HcState {
    pub(crate) fn new() -> Self {
        const { assert!(align_of::<u64>() >= align_of::<*const u8>()) };
        // SAFETY: the function takes nothing, reads no state and returns a constant.
        let bytes = unsafe { LZ4_sizeofStateHC() };
        let words = usize::try_from(bytes).expect("a size is positive").div_ceil(size_of::<u64>());
        Self(vec![0; words].into_boxed_slice())
    }
}

/// `LZ4_compress_destSize`: the longest prefix of `input` that the fast encoder fits into `output`; the yardstick of
/// our own one in tests.
#[cfg(test)]
pub(crate) fn fill_fast(input: &[u8], output: &mut [u8]) -> Fit {
    let (mut consumed, room) = (clamp(input.len()), clamp(output.len()));
    // SAFETY: `input` is readable for `consumed` bytes and `output` writable for `room` bytes, since
    // `clamp` never exceeds a slice's length; the two cannot overlap (shared and exclusive borrow).
    // `consumed` is a live, exclusive c_int. The function keeps no pointer after it returns, and its
    // state lives on its own stack.
    let written = unsafe {
        LZ4_compress_destSize(
            input.as_ptr().cast(),
            output.as_mut_ptr().cast(),
            &raw mut consumed,
            room,
        )
    };
    fit(consumed, written)
}

/// `LZ4_compress_HC_destSize`: the longest prefix of `input` that level `level` fits into `output`.
pub(crate) fn fill_hc(state: &mut HcState, input: &[u8], output: &mut [u8], level: u8) -> Fit {
    let (mut consumed, room) = (clamp(input.len()), clamp(output.len()));
    // SAFETY: `state` is at least `LZ4_sizeofStateHC` bytes, aligned for a pointer and exclusively
    // borrowed; the call initialises it before use, so earlier contents do not matter. `input` is
    // readable for `consumed` bytes and `output` writable for `room` bytes, since `clamp` never exceeds
    // a slice's length; no two of the three overlap (exclusive borrows). `consumed` is a live,
    // exclusive c_int. The state remembers the address of `input`, but the next use overwrites
    // it before reading it.
    let written = unsafe {
        LZ4_compress_HC_destSize(
            state.0.as_mut_ptr().cast(),
            input.as_ptr().cast(),
            output.as_mut_ptr().cast(),
            &raw mut consumed,
            room,
            c_int::from(level),
        )
    };
    fit(consumed, written)
}

/// `LZ4_decompress_safe`: the number of bytes that the whole stream `input` decodes to, if it is sound and
/// they fit `output`.
pub(crate) fn decompress(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let (size, room) = (c_int::try_from(input.len()).ok()?, c_int::try_from(output.len()).ok()?);
    // SAFETY: `input` is readable for `size` and `output` writable for `room` bytes, their exact
    // lengths; they cannot overlap (shared and exclusive borrow). The function checks every length
    // and distance of the stream against both bounds, whatever the bytes are.
    let decoded = unsafe {
        LZ4_decompress_safe(input.as_ptr().cast(), output.as_mut_ptr().cast(), size, room)
    };
    usize::try_from(decoded).ok()
}

/// Bytes that a buffer must have beyond what a stream of `input` bytes holds, so that decoding it in place overwrites no byte
/// before it is read: up to 31 are written beyond a match, and what follows it may be literals, with a token and a byte for
/// each 255 of them. The library's `LZ4_DECOMPRESS_INPLACE_MARGIN` (a byte for each 256, and 32) lacks up to two of these
/// for some short streams.
pub(crate) const fn margin(input: usize) -> usize {
    input / 255 + 40
}

/// As [`decompress`], of the stream that ends `buffer` and begins at `start`, to the first `output` bytes of it.
pub(crate) fn decompress_in_place(buffer: &mut [u8], start: usize, output: usize) -> Option<usize> {
    let size = c_int::try_from(buffer.len().checked_sub(start)?).ok()?;
    let room = c_int::try_from(output.min(buffer.len())).ok()?;
    let base = buffer.as_mut_ptr();
    // SAFETY: both pointers come of one exclusive borrow: `room` bytes are writable at `base`, `size` bytes
    // readable at `base + start`, both within `buffer`. The library documents that the two may overlap so. What a
    // stream without enough margin or a corrupt one overwrites before it is read are bytes of `buffer`, which
    // are initialised whatever they become. The function reads each byte of the stream once to a variable, after it
    // compared the address with the end of the input, and compares each length and distance with both
    // bounds after it read it, so it stays within them for any bytes, also for ones that it changed itself. A corrupt stream
    // can bring output and input nearer to one another than the library's copies of 8 or 16 bytes are long. Compilers load and store
    // such a copy as a whole, so any result is one of initialised bytes; C's memcpy promises nothing of the kind. With the
    // margin no sound stream comes that near.
    let decoded = unsafe {
        LZ4_decompress_safe(base.add(start).cast_const().cast(), base.cast(), size, room)
    };
    usize::try_from(decoded).ok()
}

/// `LZ4_decompress_safe_partial`: as [`decompress`], but stops when `output` is full.
pub(crate) fn decompress_partial(input: &[u8], output: &mut [u8]) -> Option<usize> {
    let (size, room) = (c_int::try_from(input.len()).ok()?, c_int::try_from(output.len()).ok()?);
    // SAFETY: as in `decompress`; the wanted size equals the capacity, so nothing is written beyond
    // `room` bytes.
    let decoded = unsafe {
        LZ4_decompress_safe_partial(
            input.as_ptr().cast(),
            output.as_mut_ptr().cast(),
            size,
            room,
            room,
        )
    };
    usize::try_from(decoded).ok()
}

/// A length as the C functions take it; what is beyond their limit is left for the next call.
fn clamp(len: usize) -> c_int {
    c_int::try_from(len.min(MAX_INPUT)).expect("the limit is one of C ints")
}

/// What an encoder reported; zero or less written means that nothing fitted.
fn fit(consumed: c_int, written: c_int) -> Fit {
    match (usize::try_from(consumed), usize::try_from(written)) {
        (Ok(consumed), Ok(written)) if written > 0 => Fit { consumed, written },
        _ => Fit { consumed: 0, written: 0 },
    }
}
