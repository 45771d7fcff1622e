//! Gathers the tokens that libdeflate chooses, a stretch of the input at a time.

use super::parse::Parser;
use super::token::{MIN_MATCH, Token, WINDOW};
use crate::ffi::deflate::Compressor;

/// How far before a seam both sides are searched for a common token boundary.
const SEAM: usize = 600;

/// Tokens for a growing beginning of an input.
#[derive(Debug)]
pub(super) struct Gatherer {
    library: Compressor,
    parser: Parser,
    stream: Vec<u8>,
    /// Tokens of the newest stretch.
    stretch: Vec<Token>,
    tokens: Vec<Token>,
    /// Bytes that `tokens` encode.
    covered: usize,
    /// About how many bits the library took for them.
    bits: u64,
}

impl Gatherer {
    /// `None` if the library has no memory.
    pub(super) fn new(level: u8) -> Option<Self> {
        Some(Self {
            library: Compressor::new(level)?,
            parser: Parser::new(),
            stream: Vec::new(),
            stretch: Vec::new(),
            tokens: Vec::new(),
            covered: 0,
            bits: 0,
        })
    }

    /// Starts a new input.
    pub(super) fn begin(&mut self) {
        self.tokens.clear();
        (self.covered, self.bits) = (0, 0);
    }

    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Bytes that the tokens encode.
    pub(super) const fn covered(&self) -> usize {
        self.covered
    }

    /// About how many bits they take.
    pub(super) const fn bits(&self) -> u64 {
        self.bits
    }

    /// Tells how many they really take.
    pub(super) const fn correct_bits(&mut self, bits: u64) {
        self.bits = bits;
    }

    /// Adds tokens up to `end` of `input`; `None` if the library failed.
    ///
    /// The stretch is compressed together with the window before it, so its tokens continue those that
    /// there are.
    pub(super) fn extend(&mut self, input: &[u8], end: usize) -> Option<()> {
        let start = self.covered.saturating_sub(WINDOW);
        let stretch = input.get(start..end)?;
        let bound = self.library.bound(stretch.len());
        self.stream.resize(bound, 0);
        let written = self.library.compress(stretch, &mut self.stream)?;
        self.stretch.clear();
        self.parser.parse(self.stream.get(..written)?, &mut self.stretch)?;
        let bits = 8 * written as u64;
        if start == 0 {
            std::mem::swap(&mut self.tokens, &mut self.stretch);
            self.bits = bits;
        } else {
            self.bits += bits * (end - self.covered) as u64 / stretch.len() as u64;
            self.join(input, start);
        }
        self.covered = end;
        Some(())
    }

    /// Appends the stretch, which begins at `start`, from where both sides have a token boundary.
    fn join(&mut self, input: &[u8], start: usize) {
        let low = self.covered - SEAM;
        let ends = boundaries(&self.stretch, start, low, self.covered);
        let mut later = ends.iter().rev().peekable();
        let (mut keep, mut at) = (self.tokens.len(), self.covered);
        while at >= low {
            while later.next_if(|end| end.0 > at).is_some() {}
            if let Some((_, index)) = later.next_if(|end| end.0 == at) {
                self.tokens.truncate(keep);
                self.tokens.extend(self.stretch.iter().skip(*index));
                return;
            }
            let Some(before) = keep.checked_sub(1) else { break };
            keep = before;
            at -= self.tokens.get(keep).map_or(0, |token| token.len());
        }
        self.join_inside(input, &ends, start);
    }

    /// Appends the stretch from the middle of its token over the seam.
    fn join_inside(&mut self, input: &[u8], ends: &[(usize, usize)], start: usize) {
        let (at, index) = ends.last().copied().unwrap_or((start, 0));
        let Some(over) = self.stretch.get(index).copied() else { return };
        let end = at + over.len();
        let rest =
            u32::try_from(end.saturating_sub(self.covered)).expect("a token has at most 258 bytes");
        match over.as_match() {
            Some((_, distance)) if rest >= MIN_MATCH => {
                self.tokens.push(Token::matched(rest, distance));
            }
            _ => {
                let bytes = input.get(self.covered..end).unwrap_or_default();
                self.tokens.extend(bytes.iter().copied().map(Token::literal));
            }
        }
        self.tokens.extend(self.stretch.iter().skip(index + 1));
    }
}

/// Where tokens begin from `low` to `high`, and which ones; the first token begins at `start`.
fn boundaries(tokens: &[Token], start: usize, low: usize, high: usize) -> Vec<(usize, usize)> {
    let begins = tokens.iter().scan(start, |at, token| {
        let begin = *at;
        *at += token.len();
        Some(begin)
    });
    let numbered = begins.zip(0..).take_while(|&(begin, _)| begin <= high);
    numbered.filter(|&(begin, _)| begin >= low).collect()
}
