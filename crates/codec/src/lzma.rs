//! How much of an input fits one MicroLZMA stream?

use crate::Fit;
use crate::ffi::lzma::{Options, Stream};

/// The largest dictionary that a reader has to have.
pub(crate) const MAX_DICTIONARY: u32 = 8 << 20;
/// The smallest one that the format can declare.
const MIN_DICTIONARY: u32 = 4096;
/// Most input bytes that one stream holds.
const MAX_CONSUMED: usize = 12 << 20;

/// What a [`Lzma`] encoder does; values outside their ranges are brought to the nearest one inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    /// Effort, 0 to 9.
    pub(crate) level: u8,
    /// Much more time for a little more.
    pub(crate) extreme: bool,
    /// Farthest a match reaches back, 4096 to [`MAX_DICTIONARY`] bytes.
    pub(crate) dictionary: u32,
    /// Bits of the byte before that choose a literal's statistics, 0 to 4.
    pub(crate) lc: u8,
    /// Bits of the position that do, 0 to 4 - `lc`.
    pub(crate) lp: u8,
    /// Bits of the position that choose a match's, 0 to 4.
    pub(crate) pb: u8,
}

impl Params {
    /// The highest level.
    pub(crate) const MAX_LEVEL: u8 = 9;

    fn clamped(self) -> Self {
        let lc = self.lc.min(4);
        Self {
            level: self.level.min(Self::MAX_LEVEL),
            dictionary: self.dictionary.clamp(MIN_DICTIONARY, MAX_DICTIONARY),
            lc,
            lp: self.lp.min(4 - lc),
            pb: self.pb.min(4),
            ..self
        }
    }
}

/// A MicroLZMA encoder with the memory it works in.
#[derive(Debug)]
pub(crate) struct Lzma {
    stream: Stream,
    /// `None` if the library lacks the level.
    options: Option<Options>,
    dictionary: u32,
}

impl Lzma {
    pub(crate) fn new(params: &Params) -> Self {
        let params = params.clamped();
        let options = Options::new(&params);
        Self { stream: Stream::new(), options, dictionary: params.dictionary }
    }

    /// Encodes the longest prefix of `input` that fits `output`; all zero if none does.
    pub(crate) fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Fit {
        let input = input.get(..MAX_CONSUMED).unwrap_or(input);
        let dictionary = self.dictionary_for(input.len());
        match &self.options {
            Some(options) => self.stream.fill(options, dictionary, input, output),
            None => Fit { consumed: 0, written: 0 },
        }
    }

    /// No more than `len` bytes can use: what a small input does not need takes no time to clear.
    ///
    /// In powers of two, so that the library's memory mostly serves again.
    fn dictionary_for(&self, len: usize) -> u32 {
        let useful = u32::try_from(len).ok().and_then(u32::checked_next_power_of_two);
        useful.map_or(self.dictionary, |useful| useful.max(MIN_DICTIONARY).min(self.dictionary))
    }
}
