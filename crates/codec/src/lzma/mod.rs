//! How much of an input fits one MicroLZMA stream?
//!
//! From level 4 on, inputs that are larger than a processor's inner caches have an encoder of their own. The statistics of
//! LZMA adapt to what precedes, so the price of a symbol is known only when its turn comes. Hence the input is taken in
//! stretches: all matches of its positions ([`finder`]), from rows of last occurrences ([`rows`]) or binary trees ([`trees`]),
//! are priced by the statistics so far ([`price`]), the cheapest way through them is chosen ([`parse`]) and its symbols are
//! written ([`symbol`]) through the range coder ([`range`]), which takes the last one back where the output is too short. The
//! whole input lies in memory, so nothing is copied, and a long match is followed as far as it goes without a search in
//! between. All else is liblzma's.

mod bits;
mod encoder;
mod finder;
mod matches;
mod model;
mod noise;
mod parse;
mod price;
mod range;
mod rows;
mod symbol;
mod trees;

use bits::Chooser;
use encoder::{Fill, Optimal};
use noise::Noise;
use rows::LastOccurrences;
use trees::Trees;

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

/// Windows below this are left to the library, which is faster where all that it searches is in a cache.
const LEAST_OWN_WINDOW: u32 = 1 << 20;

/// A MicroLZMA encoder with the memory it works in.
#[derive(Debug)]
pub(crate) struct Lzma {
    library: Stream,
    /// `None` if the library lacks the level.
    options: Option<Options>,
    /// Ours, for large windows.
    own: Option<Box<dyn Fill>>,
    dictionary: u32,
    bits: LzmaBits,
    /// Where the time is there to find out what suits.
    chooser: Option<Chooser>,
    noise: Noise,
}

/// Our encoder for a level; `None` where the library's is as good.
fn own(level: u8, extreme: bool) -> Option<Box<dyn Fill>> {
    let made = match level {
        _ if extreme => by_trees(trees::Effort { nice: 273, depth: 96, gram: 4 }),
        ..=3 => return None,
        4 => by_rows(rows::Effort { nice: 32, grams: [6, 12] }),
        5 => by_rows(rows::Effort { nice: 48, grams: [5, 8, 16] }),
        6 => by_rows(rows::Effort { nice: 80, grams: [5, 8, 16] }),
        7 => by_trees(trees::Effort { nice: 96, depth: 32, gram: 5 }),
        8 => by_trees(trees::Effort { nice: 128, depth: 48, gram: 4 }),
        9.. => by_trees(trees::Effort { nice: 160, depth: 64, gram: 4 }),
    };
    Some(made)
}

fn by_rows<const TABLES: usize>(effort: rows::Effort<TABLES>) -> Box<dyn Fill> {
    Box::new(Optimal::new(LastOccurrences::new(effort), effort.nice))
}

fn by_trees(effort: trees::Effort) -> Box<dyn Fill> {
    Box::new(Optimal::new(Trees::new(effort), effort.nice))
}

impl Lzma {
    pub(crate) fn new(params: &Params) -> Self {
        let Params { level, extreme, dictionary, bits } = params.clamped();
        let is_large = dictionary >= LEAST_OWN_WINDOW;
        Self {
            library: Stream::new(),
            options: Options::new(level, extreme),
            own: is_large.then(|| own(level, extreme)).flatten(),
            dictionary,
            bits: bits.unwrap_or_default(),
            chooser: (extreme && bits.is_none()).then(Chooser::new),
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
        let dictionary = dictionary_for(input.len(), self.dictionary);
        let bits = match &mut self.chooser {
            Some(chooser) => chooser.choose(dictionary, input, output),
            None => self.bits,
        };
        if let Some(own) = &mut self.own
            && dictionary >= LEAST_OWN_WINDOW
        {
            return own.fill(bits, dictionary as usize, input, output);
        }
        let Some(options) = &self.options else { return Fit { consumed: 0, written: 0 } };
        self.library.fill(&options.with(bits, dictionary), input, output)
    }
}

/// No more than `len` bytes can use: what a small input does not need takes no time to clear.
///
/// In powers of two, so that the library's memory mostly serves again.
fn dictionary_for(len: usize, most: u32) -> u32 {
    let useful = u32::try_from(len).ok().and_then(u32::checked_next_power_of_two);
    useful.map_or(most, |useful| useful.max(MIN_DICTIONARY).min(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::lzma::decompress;

    #[test]
    fn what_own_encoders_fill_with_large_windows_is_decoded() {
        let numbers = (0..150_000_u64).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44);
        let input: Vec<u8> = numbers
            .flat_map(|number| format!("{number} of {}\n", number % 97).into_bytes())
            .collect();
        for level in 4..=9 {
            let params = Params { level, extreme: false, dictionary: 1 << 22, bits: None };
            let mut encoder = Lzma::new(&params);
            let mut output = vec![0; 256 << 10];
            let fits = [(); 2].map(|()| encoder.fill(&input, &mut output));
            let [Fit { consumed, written }, again] = fits;
            assert!(again == fits[0] && consumed > 500_000, "{level}: {fits:?}");
            let mut decoded = vec![0; consumed];
            assert_eq!(decompress(&output[..written], &mut decoded), Some(consumed));
            assert!(decoded == input[..consumed], "{level}");
        }
    }
}
