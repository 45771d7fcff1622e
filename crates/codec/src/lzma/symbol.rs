//! Defines the symbols of a stream, and writes them.

use super::model::{
    ALIGN_BITS, EVEN, FIRST_CODED_SLOT, FIRST_DIRECT_SLOT, LENGTH_STATES, LITERAL, Lengths,
    MIN_MATCH, Model, POSITION_STATES, Probability, REPS, State, Table,
};
use super::range::RangeEncoder;
use crate::LzmaBits;
use crate::lz4opt::narrow;

/// Bytes that no symbol exceeds.
const LONGEST_SYMBOL: usize = 32;

/// [`REPS`] as the first code of a new distance.
const REP_COUNT: u32 = 4;
const _: () = assert!(REP_COUNT as usize == REPS);

/// What a symbol says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    /// Bytes it stands for.
    pub(super) len: u32,
    pub(super) code: Code,
}

/// Where the bytes of a symbol come from: a literal, one of the last distances, or a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(pub(super) u32);

impl Code {
    pub(super) const LITERAL: Self = Self(u32::MAX);
    /// The last distance again.
    pub(super) const REP0: Self = Self(0);

    #[inline]
    pub(super) const fn rep(index: u32) -> Self {
        Self(index)
    }

    /// Bytes that are `distance + 1` back.
    #[inline]
    pub(super) const fn far(distance: u32) -> Self {
        Self(distance + REP_COUNT)
    }
}

/// The last four distances, each one less than the bytes it means.
pub(super) type Reps = [u32; REPS];

/// What came before a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Past {
    pub(super) state: State,
    pub(super) reps: Reps,
}

impl Past {
    pub(super) const START: Self = Self { state: State::START, reps: [0; REPS] };

    /// After a symbol of `len` bytes.
    #[inline]
    pub(super) const fn after(self, len: u32, code: Code) -> Self {
        let Self { state, reps } = self;
        let [a, b, c, d] = reps;
        match code.0 {
            u32::MAX => Self { state: state.after_literal(), reps },
            0 if len == 1 => Self { state: state.after_short_rep(), reps },
            0 => Self { state: state.after_rep(), reps },
            1 => Self { state: state.after_rep(), reps: [b, a, c, d] },
            2 => Self { state: state.after_rep(), reps: [c, a, b, d] },
            3 => Self { state: state.after_rep(), reps: [d, a, b, c] },
            far => Self { state: state.after_match(), reps: [far - REP_COUNT, a, b, c] },
        }
    }
}

/// The slot of a distance, one less than the bytes it means.
#[inline]
pub(super) const fn slot(distance: u32) -> u32 {
    if distance < FIRST_CODED_SLOT {
        return distance;
    }
    let high = distance.ilog2();
    high << 1 | distance >> (high - 1) & 1
}

/// Bits of a distance below those that its slot says, from slot 4 on.
#[inline]
pub(super) const fn low_bits(slot: u32) -> u32 {
    (slot >> 1) - 1
}

/// The class of a match's length by which its slot has statistics.
#[inline]
pub(super) const fn length_state(len: usize) -> usize {
    let state = len - MIN_MATCH;
    if state < LENGTH_STATES { state } else { LENGTH_STATES - 1 }
}

/// The statistics of literals, by what precedes them.
#[derive(Clone, Debug)]
pub(super) struct Literals {
    tables: Vec<[Probability; LITERAL]>,
    bits: LzmaBits,
}

impl Literals {
    fn new(bits: LzmaBits) -> Self {
        Self { tables: vec![[EVEN; LITERAL]; 1 << (bits.lc + bits.lp)], bits }
    }

    #[inline]
    fn index(&self, position: usize, before: u8) -> usize {
        let LzmaBits { lc, lp, .. } = self.bits;
        let low = position & ((1 << (lp & 7)) - 1);
        low << (lc & 7) | usize::from(before) >> (8 - (lc & 7))
    }

    #[inline]
    pub(super) fn at(&self, position: usize, before: u8) -> &[Probability; LITERAL] {
        self.tables.get(self.index(position, before)).expect("as many tables as indexes")
    }

    #[inline]
    fn at_mut(&mut self, position: usize, before: u8) -> &mut [Probability; LITERAL] {
        let index = self.index(position, before);
        self.tables.get_mut(index).expect("as many tables as indexes")
    }
}

/// A stream that grows.
#[derive(Debug)]
pub(super) struct Stream<'o> {
    range: RangeEncoder<'o>,
    pub(super) model: Model,
    pub(super) literals: Literals,
    pub(super) past: Past,
    /// Bytes it holds.
    pub(super) at: usize,
    bits: LzmaBits,
}

impl<'o> Stream<'o> {
    pub(super) fn new(bits: LzmaBits, output: &'o mut [u8]) -> Self {
        Self {
            range: RangeEncoder::new(output),
            model: Model::new(),
            literals: Literals::new(bits),
            past: Past::START,
            at: 0,
            bits,
        }
    }

    /// The part of a position that matches' statistics are distinguished by.
    #[inline]
    pub(super) const fn position_state(&self, position: usize) -> usize {
        position & ((1 << (self.bits.pb & 7)) - 1) & (POSITION_STATES - 1)
    }

    pub(super) const fn position_states(&self) -> usize {
        1 << self.bits.pb
    }

    /// Ends the stream, and returns its length.
    pub(super) fn finish(self) -> usize {
        let LzmaBits { lc, lp, pb } = self.bits;
        self.range.finish(!((pb * 5 + lp) * 9 + lc))
    }

    /// Appends a symbol, if it fits.
    #[inline]
    pub(super) fn push(&mut self, text: &[u8], symbol: Symbol) -> bool {
        if self.range.room().is_some_and(|room| room >= LONGEST_SYMBOL) {
            self.write(text, symbol);
            return true;
        }
        let place = self.range.place();
        self.write(text, symbol);
        let fits = self.range.room().is_some();
        if !fits {
            self.range.restore(place);
            self.at -= symbol.len as usize;
        }
        fits
    }

    #[inline]
    fn write(&mut self, text: &[u8], symbol: Symbol) {
        let Symbol { len, code } = symbol;
        let (state, position_state) = (self.past.state.index(), self.position_state(self.at));
        let is_match = u32::from(code != Code::LITERAL);
        self.range.bit(self.model.is_match.entry_mut(state).entry_mut(position_state), is_match);
        match code {
            Code::LITERAL => self.literal(text),
            Code(rep) if rep < REP_COUNT => self.rep(rep, len as usize, position_state),
            Code(far) => self.far(far - REP_COUNT, len as usize, position_state),
        }
        self.past = self.past.after(len, code);
        self.at += len as usize;
    }

    fn literal(&mut self, text: &[u8]) {
        let before = self.at.checked_sub(1).and_then(|before| text.get(before)).copied();
        let table = self.literals.at_mut(self.at, before.unwrap_or(0));
        let byte = u32::from(text.get(self.at).copied().unwrap_or(0));
        let mut node = 1;
        if self.past.state.follows_literal() {
            for at in (0..8).rev() {
                node = self.range.node(table, node, byte >> at & 1);
            }
            return;
        }
        let [distance, ..] = self.past.reps;
        let other = self.at.checked_sub(distance as usize + 1).and_then(|at| text.get(at)).copied();
        let (mut other, mut beside) = (usize::from(other.unwrap_or(0)) << 1, 0x100);
        for at in (0..8).rev() {
            let bit = byte >> at & 1;
            self.range.node(table, beside + (other & beside) + node, bit);
            // As long as the bits are the same.
            beside &= if bit == 0 { !other } else { other };
            other <<= 1;
            node = node << 1 | bit as usize;
        }
    }

    fn rep(&mut self, rep: u32, len: usize, position_state: usize) {
        let Self { model, range, past, .. } = self;
        let state = past.state.index();
        range.bit(model.is_rep.entry_mut(state), 1);
        range.bit(model.is_not_rep0.entry_mut(state), u32::from(rep > 0));
        if rep == 0 {
            let is_long = u32::from(len > 1);
            range.bit(model.is_rep0_long.entry_mut(state).entry_mut(position_state), is_long);
            if len == 1 {
                return;
            }
        } else {
            range.bit(model.is_not_rep1.entry_mut(state), u32::from(rep > 1));
            if rep > 1 {
                range.bit(model.is_not_rep2.entry_mut(state), rep - 2);
            }
        }
        length(range, &mut model.rep_lengths, len, position_state);
    }

    fn far(&mut self, distance: u32, len: usize, position_state: usize) {
        let Self { model, range, past, .. } = self;
        range.bit(model.is_rep.entry_mut(past.state.index()), 0);
        length(range, &mut model.lengths, len, position_state);
        let slot = slot(distance);
        range.tree(model.slot.entry_mut(length_state(len)), slot);
        if slot < FIRST_CODED_SLOT {
            return;
        }
        let count = low_bits(slot);
        if slot < FIRST_DIRECT_SLOT {
            range.reverse_tree(model.near.entry_mut(slot as usize), count, distance);
        } else {
            range.direct(distance >> ALIGN_BITS, count - ALIGN_BITS);
            range.reverse_tree(&mut model.align, ALIGN_BITS, distance);
        }
    }
}

#[inline]
fn length(range: &mut RangeEncoder<'_>, lengths: &mut Lengths, len: usize, position_state: usize) {
    let value = narrow(len - MIN_MATCH);
    range.bit(&mut lengths.beyond_low, u32::from(value >= 8));
    if value < 8 {
        return range.tree(lengths.low.entry_mut(position_state), value);
    }
    range.bit(&mut lengths.beyond_middle, u32::from(value >= 16));
    if value < 16 {
        range.tree(lengths.middle.entry_mut(position_state), value - 8);
    } else {
        range.tree(&mut lengths.high, value - 16);
    }
}
