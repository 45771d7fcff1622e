//! Chooses the statistics that suit a stretch of content.

use crate::ffi::lzma::{Options, Stream};
use crate::{Fit, LzmaBits};

/// The candidates: the usual one, one for tables of 4-byte numbers, one for both code and tables.
///
/// More bits of the byte before look good with little effort, which leaves more literals, and are not with much.
const CANDIDATES: [LzmaBits; 3] = [
    LzmaBits { lc: 3, lp: 0, pb: 2 },
    LzmaBits { lc: 0, lp: 2, pb: 2 },
    LzmaBits { lc: 1, lp: 2, pb: 2 },
];
/// Effort of a try.
const LEVEL: u8 = 1;
/// The farthest that a try looks back: what suits hardly depends on more, but the time does.
const MAX_DICTIONARY: u32 = 1 << 20;
/// Bytes of output that a try fills at most: those that follow are mostly of the same kinds.
const MAX_OUTPUT: usize = 256 << 10;

/// Tries candidates with little effort.
#[derive(Debug)]
pub(super) struct Chooser {
    stream: Stream,
    /// `None` if the library lacks the level.
    options: Option<Options>,
}

impl Chooser {
    pub(super) fn new() -> Self {
        Self { stream: Stream::new(), options: Options::new(LEVEL, false) }
    }

    /// The candidate that fits most of `input` into `output`, whose content is lost.
    pub(super) fn choose(&mut self, dictionary: u32, input: &[u8], output: &mut [u8]) -> LzmaBits {
        let Some(options) = &self.options else { return LzmaBits::default() };
        let output = match output.split_at_mut_checked(MAX_OUTPUT) {
            Some((first, _)) => first,
            None => output,
        };
        let dictionary = dictionary.min(MAX_DICTIONARY);
        let (mut best, mut chosen) = (Fit { consumed: 0, written: 0 }, LzmaBits::default());
        for bits in CANDIDATES {
            let fit = self.stream.fill(&options.with(bits, dictionary), input, output);
            if is_better(fit, best) {
                (best, chosen) = (fit, bits);
            }
        }
        chosen
    }
}

/// More in, or as much into less.
const fn is_better(fit: Fit, than: Fit) -> bool {
    fit.consumed > than.consumed || fit.consumed == than.consumed && fit.written < than.written
}
