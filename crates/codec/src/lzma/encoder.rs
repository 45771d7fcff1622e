//! Fills an output with the symbols that the parser chooses.

use std::fmt;

use super::finder::Find;
use super::matches::Matches;
use super::parse::{Parser, Source};
use super::price::Prices;
use super::symbol::Stream;
use crate::{Fit, LzmaBits};

/// Symbols by which the statistics change so much that prices are computed again.
const STALE: usize = 256;

/// An encoder whose symbols are the cheapest that the matches it finds allow.
#[derive(Debug)]
pub(super) struct Optimal<F> {
    finder: F,
    matches: Matches,
    parser: Parser,
    prices: Box<Prices>,
}

/// Fills an output with as much of an input as fits.
pub(super) trait Fill: fmt::Debug + Send {
    /// Encodes the longest prefix of `input` that fits; matches reach less than `window` bytes back.
    fn fill(&mut self, bits: LzmaBits, window: usize, input: &[u8], output: &mut [u8]) -> Fit;
}

impl<F: Find> Optimal<F> {
    /// An encoder that takes a match of `nice` bytes, which is as long as `finder` finds them, without looking for better.
    pub(super) fn new(finder: F, nice: usize) -> Self {
        Self {
            finder,
            matches: Matches::default(),
            parser: Parser::new(nice),
            prices: Box::new(Prices::new()),
        }
    }
}

impl<F: Find> Fill for Optimal<F> {
    fn fill(&mut self, bits: LzmaBits, window: usize, input: &[u8], output: &mut [u8]) -> Fit {
        let Self { finder, matches, parser, prices } = self;
        finder.begin(input.len(), window);
        matches.begin();
        let mut source = Source { text: input, finder, matches };
        let mut stream = Stream::new(bits, output);
        let (mut symbols, mut is_full) = (STALE, false);
        while stream.at < input.len() && !is_full {
            if symbols >= STALE {
                prices.update(&stream);
                symbols = 0;
            }
            source.matches.forget(stream.at);
            let way = parser.parse(&mut source, &stream, prices);
            symbols += way.len();
            is_full = !way.drain(..).rev().all(|symbol| stream.push(input, symbol));
        }
        let consumed = stream.at;
        if consumed == 0 {
            return Fit { consumed: 0, written: 0 };
        }
        Fit { consumed, written: stream.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::lzma::{self, Options};
    use crate::lzma::trees::{Effort, Trees};

    const EFFORT: Effort = Effort { nice: 40, depth: 16, gram: 5 };

    /// Lines that are alike, with numbers that are not.
    fn lines(count: u32) -> Vec<u8> {
        let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        let numbers = std::iter::successors(Some(1), next).map(|state| state >> 12);
        let line = |(at, number): (u32, u32)| {
            format!("{at}: inode {number} has {} extents of {:x}\n", number % 97, number / 7)
        };
        (0..count).zip(numbers).flat_map(|pair| line(pair).into_bytes()).collect()
    }

    #[test]
    fn any_room_is_filled_and_not_exceeded() {
        let input = lines(2000);
        let mut encoder = Optimal::new(Trees::new(EFFORT), EFFORT.nice);
        let mut last = 0;
        for room in (0..400).chain([4095, 4096, 4097]) {
            let mut output = vec![0xA5; room + 1];
            let fit = encoder.fill(LzmaBits::default(), 4096, &input, &mut output[..room]);
            assert!(fit.written <= room && output[room] == 0xA5, "{fit:?} of {room}");
            assert!(fit.consumed >= last, "{last} and then {fit:?} of {room}");
            last = fit.consumed;
            let mut decoded = vec![0; fit.consumed];
            if fit.consumed > 0 {
                let stream = &output[..fit.written];
                assert_eq!(lzma::decompress(stream, &mut decoded), Some(fit.consumed));
                assert!(decoded == input[..fit.consumed]);
            } else {
                assert!(room < 8, "nothing in {room}");
            }
        }
    }

    #[test]
    fn numbers_among_words_cost_little_more_than_in_the_library() {
        let input = lines(40_000);
        let most = Effort { nice: 160, depth: 64, gram: 4 };
        let library = Options::new(9, false).unwrap().with(LzmaBits::default(), 1 << 20);
        let mut output = vec![0; 65536];
        for room in [4096, 16384, 65536] {
            let room = &mut output[..room];
            let theirs = lzma::Stream::new().fill(&library, &input, room);
            let ours = Optimal::new(Trees::new(most), most.nice).fill(
                LzmaBits::default(),
                1 << 20,
                &input,
                room,
            );
            assert!(ours.consumed * 100 >= theirs.consumed * 95, "{ours:?} against {theirs:?}");
        }
    }
}
