//! Wraps liblzma's MicroLZMA in safe types.

use std::alloc::{Layout, handle_alloc_error};
use std::cell::Cell;
use std::fmt;

use liblzma_sys::{
    LZMA_DICT_SIZE_MIN, LZMA_FINISH, LZMA_MEM_ERROR, LZMA_OK, LZMA_PRESET_EXTREME, LZMA_STREAM_END,
    lzma_code, lzma_end, lzma_lzma_preset, lzma_microlzma_decoder, lzma_microlzma_encoder,
    lzma_options_lzma, lzma_ret, lzma_stream,
};

use crate::Fit;
use crate::compressor::{LzmaBits, MAX_LZMA_DICTIONARY};
use crate::kept::{self, Kept};
use crate::skip::skipping;

/// `set_out_limit` of liblzma: outputs shorter than this cannot hold a byte.
const MIN_OUTPUT: usize = 6;

/// A `lzma_stream`; what liblzma allocated for one stream serves the next one.
pub(crate) struct Stream(lzma_stream);

// SAFETY: a `lzma_stream` is an ordinary allocation that belongs to no thread; it points at no input or
// output between calls, since every method below sets both again before it calls into the library.
unsafe impl Send for Stream {}

/// The options of one encoder, as liblzma's preset fills them in.
#[derive(Clone)]
pub(crate) struct Options(lzma_options_lzma);

// SAFETY: the pointers inside are null (`lzma_lzma_preset` sets no preset dictionary).
unsafe impl Send for Options {}

impl Options {
    /// The preset of `level`; `None` if the library does not know it.
    pub(crate) fn new(level: u8, extreme: bool) -> Option<Self> {
        // SAFETY: all fields are integers or raw pointers, for which zero is a valid value.
        let mut options: lzma_options_lzma = unsafe { std::mem::zeroed() };
        let flags = if extreme { LZMA_PRESET_EXTREME } else { 0 };
        // SAFETY: `options` is live and exclusively borrowed; the function writes its fields only.
        let failed = unsafe { lzma_lzma_preset(&raw mut options, u32::from(level) | flags) };
        if let (false, Some(nice_len)) = (extreme, nice_len(level)) {
            options.nice_len = nice_len;
        }
        (failed == 0).then_some(Self(options))
    }

    /// The same with these statistics and a dictionary of so many bytes.
    pub(crate) fn with(&self, bits: LzmaBits, dictionary: u32) -> Self {
        let LzmaBits { lc, lp, pb } = bits;
        let (lc, lp, pb) = (lc.into(), lp.into(), pb.into());
        Self(lzma_options_lzma { lc, lp, pb, dict_size: dictionary, ..self.0 })
    }
}

/// Length of a match that is taken without looking for a better one, where it is not as the library's preset has it.
///
/// The library's 64 at level 6 takes 7 to 17 % more time than 32, for 0.1 % of programs and 1 % of texts; that is what
/// the levels above are for.
const fn nice_len(level: u8) -> Option<u32> {
    match level {
        5 => Some(24),
        6 => Some(32),
        _ => None,
    }
}

impl Options {
    /// The largest allocation of an encoder, at least.
    fn dictionary(&self) -> Layout {
        let bytes = usize::try_from(self.0.dict_size).ok();
        let layout = bytes.and_then(|bytes| Layout::array::<u8>(bytes).ok());
        layout.unwrap_or(Layout::new::<lzma_options_lzma>())
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lzma_options_lzma { nice_len, depth, lc, lp, pb, .. } = self.0;
        write!(f, "Options(nice {nice_len}, depth {depth}, lc {lc}, lp {lp}, pb {pb})")
    }
}

impl Stream {
    pub(crate) fn new() -> Self {
        // SAFETY: all fields are integers, raw pointers or null-able pointers, for which zero is a valid
        // value; `LZMA_STREAM_INIT` of the C header is all zero as well.
        Self(unsafe { std::mem::zeroed() })
    }

    /// The longest prefix of `input` that fits `output` by `options`; all zero if the library fails. Without memory the
    /// program ends, as with any other allocation: an image's bytes must not depend on that.
    pub(crate) fn fill(&mut self, options: &Options, input: &[u8], output: &mut [u8]) -> Fit {
        let nothing = Fit { consumed: 0, written: 0 };
        if input.is_empty() || output.len() < MIN_OUTPUT {
            return nothing;
        }
        // SAFETY: the stream is zeroed or was set up by an earlier call, so its `internal` is null or the
        // library's own. `options` is live during the call and has no preset dictionary; the library
        // checks the other fields and keeps no pointer to them.
        let begun = unsafe { lzma_microlzma_encoder(&raw mut self.0, &raw const options.0) };
        let ended = if begun == LZMA_OK { self.code(input, output) } else { begun };
        if ended == LZMA_MEM_ERROR {
            handle_alloc_error(options.dictionary());
        }
        if ended != LZMA_STREAM_END {
            return nothing;
        }
        Fit { consumed: input.len() - self.0.avail_in, written: output.len() - self.0.avail_out }
    }

    /// Runs the coder that was set up last to its end, or as far as `input` and `output` let it.
    fn code(&mut self, input: &[u8], output: &mut [u8]) -> lzma_ret {
        self.0.next_in = input.as_ptr();
        self.0.avail_in = input.len();
        self.0.next_out = output.as_mut_ptr();
        self.0.avail_out = output.len();
        loop {
            // SAFETY: a coder was set up by the caller. The library reads `avail_in` bytes at `next_in` and
            // writes `avail_out` bytes at `next_out`, moving each pointer and count together: always
            // within the two slices, which are borrowed for longer than this call and cannot overlap.
            let code = unsafe { lzma_code(&raw mut self.0, LZMA_FINISH) };
            // Without progress two consecutive calls report an error, so this ends.
            if code != LZMA_OK {
                return code;
            }
        }
    }

    /// Goes on with the decoder that was set up last until `output` is full.
    fn decode(&mut self, unread: &mut &[u8], output: &mut [u8]) -> Option<usize> {
        self.0.next_in = unread.as_ptr();
        self.0.avail_in = unread.len();
        self.0.next_out = output.as_mut_ptr();
        self.0.avail_out = output.len();
        let mut code = LZMA_OK;
        while code == LZMA_OK && self.0.avail_out > 0 {
            // SAFETY: as in `code`; what is left of the input is at the same address as after the call before.
            code = unsafe { lzma_code(&raw mut self.0, LZMA_FINISH) };
        }
        *unread = unread.get(unread.len().checked_sub(self.0.avail_in)?..)?;
        matches!(code, LZMA_OK | LZMA_STREAM_END).then(|| output.len() - self.0.avail_out)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is zeroed or was set up by the library; either may be ended.
        unsafe { lzma_end(&raw mut self.0) }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

/// The largest dictionary that stays with its thread.
const MAX_KEPT: u32 = 1 << 20;

/// A decoder; it stays with the thread that made it.
struct Decoder {
    stream: Stream,
    /// Bytes of its dictionary: streams that need less get as much, for another size is another allocation.
    dictionary: u32,
}

thread_local! {
    static DECODER: Kept<Decoder> = const { Cell::new(None) };
}

impl Decoder {
    /// Runs `work` with this thread's decoder, set up for a stream of which `wanted` bytes are decoded.
    ///
    /// With `exact` the stream must end together with them, otherwise it may go on.
    fn with(
        input: &[u8],
        wanted: usize,
        exact: bool,
        work: impl FnOnce(&mut Stream) -> Option<usize>,
    ) -> Option<usize> {
        let new = || Some(Self { stream: Stream::new(), dictionary: LZMA_DICT_SIZE_MIN });
        kept::with(
            &DECODER,
            new,
            |made| made.dictionary <= MAX_KEPT,
            |decoder| {
                decoder.begin(input.len(), wanted, exact)?;
                work(&mut decoder.stream)
            },
        )
    }

    fn begin(&mut self, input: usize, wanted: usize, exact: bool) -> Option<()> {
        // No match reaches farther back than the bytes there are.
        let needed = u32::try_from(wanted).unwrap_or(u32::MAX).min(MAX_LZMA_DICTIONARY);
        self.dictionary = needed.next_power_of_two().max(self.dictionary);
        let (size, wanted) = (u64::try_from(input).ok()?, u64::try_from(wanted).ok()?);
        let stream = &raw mut self.stream.0;
        // SAFETY: the stream is live, exclusively borrowed, and zeroed or set up by an earlier call; the other
        // arguments are numbers, which the library checks.
        let begun =
            unsafe { lzma_microlzma_decoder(stream, size, wanted, exact.into(), self.dictionary) };
        (begun == LZMA_OK).then_some(())
    }
}

/// The number of bytes that the whole stream `input` decodes to, if it is sound and holds exactly
/// `output.len()`.
pub(crate) fn decompress(input: &[u8], output: &mut [u8]) -> Option<usize> {
    Decoder::with(input, output.len(), true, |stream| {
        let ended = stream.code(input, output) == LZMA_STREAM_END && stream.0.avail_in == 0;
        ended.then(|| output.len() - stream.0.avail_out)
    })
}

/// Decodes the bytes after the first `skip`, which go through `sink`, until `output` is full; the stream may hold more.
///
/// Returns the number of all decoded bytes.
pub(crate) fn decompress_rolling(
    input: &[u8],
    skip: usize,
    output: &mut [u8],
    sink: &mut [u8],
) -> Option<usize> {
    let wanted = skip.checked_add(output.len())?;
    if wanted == 0 {
        return Some(0);
    }
    Decoder::with(input, wanted, false, |stream| {
        let mut unread = input;
        skipping(skip, output, sink, |output| stream.decode(&mut unread, output))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs so many zeros and decodes them; the dictionary that the thread keeps then.
    fn kept_after(length: usize) -> Option<u32> {
        let (zeros, mut stream) = (vec![0; length], vec![0; 65536]);
        let options = Options::new(1, false).unwrap();
        let fit = Stream::new().fill(&options, &zeros, &mut stream);
        assert_eq!(fit.consumed, length);
        let mut output = vec![1; length];
        assert_eq!(decompress(stream.get(..fit.written).unwrap(), &mut output), Some(length));
        assert!(output == zeros);
        let kept = DECODER.take();
        let dictionary = kept.as_ref().map(|decoder| decoder.dictionary);
        DECODER.set(kept);
        dictionary
    }

    #[test]
    fn small_dictionaries_are_kept_and_large_ones_freed() {
        assert_eq!(kept_after(50_000), Some(65536));
        assert_eq!(kept_after(5000), Some(65536));
        assert_eq!(kept_after(1 << 20), Some(1 << 20));
        assert_eq!(kept_after((1 << 20) + 1), None);
        assert_eq!(kept_after(5000), Some(8192));
    }
}
