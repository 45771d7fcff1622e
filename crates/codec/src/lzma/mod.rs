//! How much of an input fits one MicroLZMA stream?

mod bits;
mod noise;

use bits::Chooser;
use noise::Noise;

use crate::compressor::MAX_LZMA_DICTIONARY;
use crate::ffi::lzma::{Options, Stream};
use crate::{Fit, LzmaBits};

/// The smallest one that the format can declare.
const MIN_DICTIONARY: u32 = 4096;
/// Most input bytes that one stream holds.
const MAX_CONSUMED: usize = 12 << 20;

/// What a [`Lzma`] encoder does; values outside their ranges are brought to the nearest one inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    /// Effort, 0 to 9.
    pub(crate) level: u8,
    /// Much more time for a little less output.
    pub(crate) extreme: bool,
    /// Farthest a match reaches back, 4096 to [`MAX_LZMA_DICTIONARY`] bytes.
    pub(crate) dictionary: u32,
    /// Which statistics are separate; `None` for what suits each stream.
    pub(crate) bits: Option<LzmaBits>,
}

impl Params {
    /// The highest level.
    pub(crate) const MAX_LEVEL: u8 = 9;

    fn clamped(self) -> Self {
        Self {
            level: self.level.min(Self::MAX_LEVEL),
            dictionary: self.dictionary.clamp(MIN_DICTIONARY, MAX_LZMA_DICTIONARY),
            bits: self.bits.map(LzmaBits::clamped),
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
    bits: LzmaBits,
    /// Where the time is there to find out what suits.
    chooser: Option<Chooser>,
    noise: Noise,
}

impl Lzma {
    pub(crate) fn new(params: &Params) -> Self {
        let params = params.clamped();
        let chooser = params.extreme && params.bits.is_none();
        Self {
            stream: Stream::new(),
            options: Options::new(params.level, params.extreme),
            dictionary: params.dictionary,
            bits: params.bits.unwrap_or_default(),
            chooser: chooser.then(Chooser::new),
            noise: Noise::new(),
        }
    }

    /// Encodes the longest prefix of `input` that fits `output`; all zero if none does.
    ///
    /// Where it would hardly be shorter than what it holds, it may be omitted: as many bytes in as out are reported then.
    pub(crate) fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Fit {
        if self.noise.fills(input, output.len()) {
            return Fit { consumed: output.len(), written: output.len() };
        }
        let input = input.get(..MAX_CONSUMED).unwrap_or(input);
        let Some(options) = &self.options else { return Fit { consumed: 0, written: 0 } };
        let dictionary = dictionary_for(input.len(), self.dictionary);
        let bits = match &mut self.chooser {
            Some(chooser) => chooser.choose(dictionary, input, output),
            None => self.bits,
        };
        self.stream.fill(&options.with(bits, dictionary), input, output)
    }
}

/// No more than `len` bytes can use: what a small input does not need takes no time to clear.
///
/// In powers of two, so that the library's memory mostly serves again.
fn dictionary_for(len: usize, most: u32) -> u32 {
    let useful = u32::try_from(len).ok().and_then(u32::checked_next_power_of_two);
    useful.map_or(most, |useful| useful.max(MIN_DICTIONARY).min(most))
}
