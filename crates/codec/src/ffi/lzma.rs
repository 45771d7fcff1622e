//! How is liblzma's MicroLZMA called safely?

use std::fmt;

use liblzma_sys::{
    LZMA_DICT_SIZE_MIN, LZMA_FINISH, LZMA_OK, LZMA_PRESET_EXTREME, LZMA_STREAM_END, lzma_code,
    lzma_end, lzma_lzma_preset, lzma_microlzma_decoder, lzma_microlzma_encoder, lzma_options_lzma,
    lzma_ret, lzma_stream,
};

use crate::lzma::MAX_DICTIONARY;
use crate::{Fit, LzmaBits};

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

    /// The longest prefix of `input` that fits `output` by `options`; all zero if the library fails.
    pub(crate) fn fill(&mut self, options: &Options, input: &[u8], output: &mut [u8]) -> Fit {
        let nothing = Fit { consumed: 0, written: 0 };
        if input.is_empty() || output.len() < MIN_OUTPUT {
            return nothing;
        }
        // SAFETY: the stream is zeroed or was set up by an earlier call, so its `internal` is null or the
        // library's own. `options` is live during the call and has no preset dictionary; the library
        // checks the other fields and keeps no pointer to them.
        let begun = unsafe { lzma_microlzma_encoder(&raw mut self.0, &raw const options.0) };
        if begun != LZMA_OK || self.code(input, output) != LZMA_STREAM_END {
            return nothing;
        }
        Fit { consumed: input.len() - self.0.avail_in, written: output.len() - self.0.avail_out }
    }

    /// The number of bytes that `input` gave, `output` being as long as it wants to be filled.
    ///
    /// With `exact` the stream must end together with the output, otherwise it may go on.
    fn decompress(&mut self, input: &[u8], output: &mut [u8], exact: bool) -> Option<usize> {
        let (size, wanted) = (u64::try_from(input.len()).ok()?, u64::try_from(output.len()).ok()?);
        let dictionary = u32::try_from(output.len()).unwrap_or(MAX_DICTIONARY);
        let dictionary = dictionary.clamp(LZMA_DICT_SIZE_MIN, MAX_DICTIONARY);
        // SAFETY: the stream is zeroed or was set up by an earlier call; the other arguments are numbers,
        // which the library checks.
        let begun = unsafe {
            lzma_microlzma_decoder(&raw mut self.0, size, wanted, exact.into(), dictionary)
        };
        if begun != LZMA_OK || self.code(input, output) != LZMA_STREAM_END {
            return None;
        }
        let unread = if exact { self.0.avail_in } else { 0 };
        (unread == 0).then_some(output.len() - self.0.avail_out)
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
            // Without progress two calls in a row report an error, so this ends.
            if code != LZMA_OK {
                return code;
            }
        }
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

/// The number of bytes that the whole stream `input` gave, if it is sound and holds exactly
/// `output.len()`.
pub(crate) fn decompress(input: &[u8], output: &mut [u8]) -> Option<usize> {
    Stream::new().decompress(input, output, true)
}

/// As [`decompress`], but the stream may hold more.
pub(crate) fn decompress_partial(input: &[u8], output: &mut [u8]) -> Option<usize> {
    if output.is_empty() {
        return Some(0);
    }
    Stream::new().decompress(input, output, false)
}
