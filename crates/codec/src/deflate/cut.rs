//! How many tokens, split into which blocks, fit so many bits?

use super::block::{Form, Histogram, cheapest};
use super::token::Token;

/// A block: its number of tokens and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) tokens: usize,
    pub(super) form: Form,
}

/// The blocks that fit.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) pieces: Vec<Piece>,
    /// Do all tokens fit?
    pub(super) is_whole: bool,
}

/// Fills `room` bits with the blocks of `tokens`, of which `lengths` gives the tokens of each.
pub(super) fn cut(tokens: &[Token], lengths: &[usize], room: u64) -> Cut {
    let (mut rest, mut bits) = (tokens, 0);
    let mut pieces: Vec<Piece> = Vec::new();
    // Tokens and bits from the block before on.
    let mut before = (rest, bits);
    for &length in lengths {
        let (block, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        let (form, more) = cheapest(&Histogram::of(block), bits);
        if bits + more > room {
            finish(&mut pieces, block, room - bits, bits, before);
            return Cut { pieces, is_whole: false };
        }
        pieces.push(Piece { tokens: length, form });
        before = (rest, bits);
        (rest, bits) = (after, bits + more);
    }
    Cut { pieces, is_whole: true }
}

/// Adds as much of `block` as fits, as a block of its own or with the one before.
fn finish(pieces: &mut Vec<Piece>, block: &[Token], room: u64, bits: u64, before: (&[Token], u64)) {
    let alone = longest(block, room, bits);
    let Some(last) = pieces.last().copied() else {
        pieces.extend(alone);
        return;
    };
    let (tokens, start) = before;
    let both = tokens.get(..last.tokens + block.len()).unwrap_or(tokens);
    let joined = longest(both, room + (bits - start), start);
    let reached = last.tokens + alone.map_or(0, |piece| piece.tokens);
    match joined.filter(|joined| joined.tokens >= reached) {
        Some(joined) => {
            pieces.pop();
            pieces.push(joined);
        }
        None => pieces.extend(alone),
    }
}

/// The longest beginning of `tokens` that fits `room` bits as one block.
fn longest(tokens: &[Token], room: u64, start: u64) -> Option<Piece> {
    let mut histogram = Histogram::new();
    let (mut low, mut high, mut form) = (0, tokens.len() + 1, None);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let mut longer = histogram.clone();
        longer.add_all(tokens.get(low..middle).unwrap_or_default());
        let (best, bits) = cheapest(&longer, start);
        if bits <= room {
            (low, histogram, form) = (middle, longer, Some(best));
        } else {
            high = middle;
        }
    }
    Some(Piece { tokens: low, form: form? })
}
