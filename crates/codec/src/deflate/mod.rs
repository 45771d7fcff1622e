//! How much of an input fits one DEFLATE stream?
//!
//! Tokens are chosen until they probably fill the output; they are split into blocks, and what fits is written.
//!
//! Up to level 9 the tokens are found here, so that the search ends where the output does. At higher levels
//! they are those of libdeflate, which neither fills a given output nor stops: a stretch of the input at a
//! time is compressed, together with the window before it, and read back into tokens.

mod bits;
mod block;
mod cut;
mod decode;
mod estimate;
mod gather;
mod huffman;
mod parse;
mod search;
mod split;
mod token;

pub(crate) use decode::{decompress, decompress_rolling};

use crate::Fit;
use bits::Writer;
use block::Block;
use cut::Cut;
use gather::Gatherer;
use search::{Effort, Search};
use token::Token;

/// Most input bytes that one stream holds.
const MAX_CONSUMED: usize = 12 << 20;
/// An unused bit of a stored block's first byte, which must not look like padding.
const STORED_MARK: u8 = 8;

/// A DEFLATE encoder with the memory it works in.
#[derive(Debug)]
pub(crate) struct Deflate {
    searcher: Searcher,
    /// Tokens in which cheaper literals have replaced short matches.
    tokens: Vec<Token>,
}

impl Deflate {
    /// An encoder of an effort from 1 to 12; that of 10 to 12 is the match search of libdeflate's level.
    pub(crate) fn new(level: u8) -> Self {
        Self { searcher: Searcher::new(level), tokens: Vec::new() }
    }

    /// Encodes the longest prefix of `input` that fits `output`; all zero if none does.
    pub(crate) fn fill(&mut self, input: &[u8], output: &mut [u8]) -> Fit {
        let input = input.get(..MAX_CONSUMED).unwrap_or(input);
        self.try_fill(input, output).unwrap_or(Fit { consumed: 0, written: 0 })
    }

    fn try_fill(&mut self, input: &[u8], output: &mut [u8]) -> Option<Fit> {
        let room = 8 * output.len() as u64;
        let cut = match &mut self.searcher {
            Searcher::Own(search) => own(search, &mut self.tokens, input, room),
            Searcher::Library(gatherer) => {
                library(gatherer.as_mut()?, &mut self.tokens, input, room)?
            }
        };
        write(&self.tokens, &cut, input, output)
    }
}

/// Who looks for matches.
#[derive(Debug)]
enum Searcher {
    Own(Search),
    /// `None` if there was no memory for it.
    Library(Option<Box<Gatherer>>),
}

impl Searcher {
    fn new(level: u8) -> Self {
        match EFFORTS.get(usize::from(level.max(1) - 1)) {
            Some(effort) => Self::Own(Search::new(*effort)),
            None => Self::Library(Gatherer::new(level).map(Box::new)),
        }
    }
}

/// How long levels 1 to 9 search.
const EFFORTS: [Effort; 9] = [
    Effort { tries: 2, nice: 12, ahead: 0 },
    Effort { tries: 4, nice: 16, ahead: 0 },
    Effort { tries: 6, nice: 24, ahead: 0 },
    Effort { tries: 10, nice: 32, ahead: 0 },
    Effort { tries: 8, nice: 32, ahead: 1 },
    Effort { tries: 14, nice: 48, ahead: 1 },
    Effort { tries: 22, nice: 64, ahead: 1 },
    Effort { tries: 28, nice: 96, ahead: 1 },
    Effort { tries: 36, nice: 130, ahead: 1 },
];

/// Own tokens that fill `room` bits; `cheaper` has them.
fn own(search: &mut Search, cheaper: &mut Vec<Token>, input: &[u8], room: u64) -> Cut {
    search.begin();
    loop {
        search.extend(input, room + room / 64);
        let cut = plan(search.tokens(), cheaper, input, room);
        match cut.whole {
            Some(bits) if search.covered() < input.len() => search.correct_bits(bits),
            _ => return cut,
        }
    }
}

/// The library's tokens that fill `room` bits; `cheaper` has them.
fn library(
    gatherer: &mut Gatherer,
    cheaper: &mut Vec<Token>,
    input: &[u8],
    room: u64,
) -> Option<Cut> {
    gatherer.begin();
    let mut step = first_step(usize::try_from(room / 8).unwrap_or(MAX_CONSUMED));
    loop {
        let end = input.len().min(gatherer.covered() + step);
        gatherer.extend(input, end)?;
        if end == input.len() || gatherer.bits() >= room + room / 64 {
            let cut = plan(gatherer.tokens(), cheaper, input, room);
            match cut.whole {
                Some(bits) if end < input.len() => gatherer.correct_bits(bits),
                _ => return Some(cut),
            }
        }
        step = next_step(gatherer, room);
    }
}

/// Bytes to start with, before anything is known.
const fn first_step(room: usize) -> usize {
    2 * room + room / 4
}

/// Bytes that probably fill the free space, and a few more.
fn next_step(gatherer: &Gatherer, room: u64) -> usize {
    let (covered, bits) = (gatherer.covered() as u64, gatherer.bits().max(1));
    let missing = (room + room / 16).saturating_sub(bits).max(room / 16);
    let step = (missing * covered / bits).min(4 * (covered + room / 8));
    usize::try_from(step).unwrap_or(MAX_CONSUMED) + 256
}

/// Decides on the blocks; `cheaper` has the tokens afterwards.
fn plan(tokens: &[Token], cheaper: &mut Vec<Token>, input: &[u8], room: u64) -> Cut {
    cheaper.clear();
    let mut groups = split::split(tokens);
    let (mut rest, mut content) = (tokens, input);
    for group in &mut groups {
        let (tokens, after) = rest.split_at_checked(group.tokens).unwrap_or((rest, &[]));
        split::spell(group, tokens, content, cheaper);
        content = content.get(group.histogram.bytes..).expect("groups hold parts of the input");
        rest = after;
    }
    cut::cut(cheaper, &groups, room)
}

fn bytes_of(tokens: &[Token]) -> usize {
    tokens.iter().map(|token| token.len()).sum()
}

/// Writes the blocks that fit.
fn write(tokens: &[Token], cut: &Cut, input: &[u8], output: &mut [u8]) -> Option<Fit> {
    let mut writer = Writer::new(output);
    let (mut rest, mut consumed) = (tokens, 0);
    for (at, piece) in cut.pieces.iter().enumerate() {
        let (tokens, after) = rest.split_at_checked(piece.tokens)?;
        let end = consumed + bytes_of(tokens);
        let content = input.get(consumed..end)?;
        let is_last = at + 1 == cut.pieces.len();
        Block { tokens, content, form: piece.form, is_last }.write(&mut writer);
        (rest, consumed) = (after, end);
    }
    let written = writer.finish()?;
    if let Some(first @ 0) = output.first_mut() {
        *first = STORED_MARK;
    }
    (consumed > 0).then_some(Fit { consumed, written })
}
