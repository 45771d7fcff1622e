//! Chooses how many tokens fit a number of bits, and their blocks.

use super::block::{Form, Histogram, cheapest};
use super::split::Group;
use super::token::Token;

/// What a header takes, about: a block of no tokens is taken to cost so many bits.
const HEADER: u64 = 500;
/// An end of more tokens is worth a header of its own, as the split has found.
const JOINABLE: usize = 4096;
/// A rest of so many bits is not worth another try.
const NEGLIGIBLE: u64 = 3;

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
    /// If all tokens fit, the bits they take.
    pub(super) whole: Option<u64>,
}

/// A block that can still grow.
#[derive(Clone)]
struct Open {
    histogram: Histogram,
    /// Bits before the block.
    start: u64,
    /// Bits of the block.
    bits: u64,
    piece: Option<Piece>,
}

/// Fills `room` bits with the blocks of `tokens` that `groups` define.
pub(super) fn cut(tokens: &[Token], groups: &[Group], room: u64) -> Cut {
    let mut rest = tokens;
    let mut pieces = Vec::new();
    let mut open = Open::new(0);
    for group in groups {
        let start = open.end();
        let (tokens, after) = rest.split_at_checked(group.tokens).unwrap_or((rest, &[]));
        let (form, bits) = cheapest(&group.histogram, start);
        if start + bits > room {
            let alone = Open::new(start).grown(tokens, bits, room);
            finish(&mut pieces, alone, open, tokens, room);
            return Cut { pieces, whole: None };
        }
        let piece = Piece { tokens: group.tokens, form };
        pieces.push(piece);
        open =
            Open { histogram: Histogram::clone(&group.histogram), start, bits, piece: Some(piece) };
        rest = after;
    }
    Cut { pieces, whole: Some(open.end()) }
}

/// Ends with as many of `tokens` as fit: as a block `alone`, or with the block `before`.
fn finish(
    pieces: &mut Vec<Piece>,
    alone: Option<Piece>,
    before: Open,
    tokens: &[Token],
    room: u64,
) {
    let reached = alone.map_or(0, |piece| piece.tokens);
    let joined = before.piece.filter(|_| reached < JOINABLE).and_then(|piece| {
        let more = before.bits * tokens.len() as u64 / piece.tokens.max(1) as u64;
        let bits = before.bits + more;
        before.grown(tokens, bits, room).filter(|joined| joined.tokens > piece.tokens + reached)
    });
    if joined.is_some() {
        pieces.pop();
    }
    pieces.extend(joined.or(alone));
}

impl Open {
    const fn new(start: u64) -> Self {
        Self { histogram: Histogram::new(), start, bits: HEADER, piece: None }
    }

    /// Bits up to the end of the block.
    const fn end(&self) -> u64 {
        if self.piece.is_some() { self.start + self.bits } else { self.start }
    }

    /// The block with as many of `tokens` as `room` bits allow; `bits` is about what it takes with all.
    ///
    /// Between a number that fits and one that doesn't, both drawing nearer, the next one tried is
    /// where the bits would be if all tokens cost the same.
    fn grown(mut self, tokens: &[Token], bits: u64, room: u64) -> Option<Piece> {
        let room = room.checked_sub(self.start)?;
        let before = self.piece.map_or(0, |piece| piece.tokens);
        let (mut low, mut high) = (0, tokens.len() + 1);
        let mut free = room.saturating_sub(self.bits).max(NEGLIGIBLE + 1);
        let mut excess = bits.saturating_sub(room).max(1);
        while high - low > 1 && free > NEGLIGIBLE {
            let share = (high - low) as u64 * free / (free + excess);
            let share =
                usize::try_from(share).expect("fewer than the tokens").clamp(1, high - low - 1);
            let mut histogram = self.histogram.clone();
            histogram.add_all(tokens.get(low..low + share).expect("a part of the tokens"));
            let (form, bits) = cheapest(&histogram, self.start);
            if bits <= room {
                low += share;
                self.piece = Some(Piece { tokens: before + low, form });
                self.histogram = histogram;
                free = room - bits;
                excess = (excess / 2).max(1);
            } else {
                high = low + share;
                excess = bits - room;
                free = (free / 2).max(NEGLIGIBLE + 1);
            }
        }
        self.piece
    }
}
