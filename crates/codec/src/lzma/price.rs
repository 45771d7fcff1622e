//! Computes what symbols cost by the statistics of a stream.

use super::model::{
    ALIGN_BITS, FIRST_CODED_SLOT, FIRST_DIRECT_SLOT, LENGTH_STATES, LENGTHS, LITERAL, Lengths,
    Model, POSITION_STATES, PROBABILITY_BITS, Probability, SLOTS, State, Table,
};
use super::symbol::{Stream, low_bits, slot};
use crate::compressor::MAX_LZMA_DICTIONARY;
use crate::lz4opt::narrow;

/// A cost, in units of a 2^-[`PRICE_BITS`] bit.
pub(super) type Price = i32;
const PRICE_BITS: u32 = 6;
/// More than any way costs.
pub(super) const UNREACHED: Price = Price::MAX / 2;

/// Bits of a probability that its price depends on.
const INDEX_BITS: u32 = 8;
const BIT_PRICES: [Price; 1 << INDEX_BITS] = bit_prices();

/// The price of a zero by its probability, of which the table has the middle of each step.
#[expect(clippy::indexing_slicing, reason = "computed by the compiler")]
const fn bit_prices() -> [Price; 1 << INDEX_BITS] {
    let mut prices = [0; 1 << INDEX_BITS];
    let mut at = 0;
    while at < prices.len() {
        // The logarithm bit by bit: squaring doubles it.
        let mut number = (2 * at as u64 + 1) << (32 - INDEX_BITS - 1);
        let mut price: Price = 0;
        let mut count = 0;
        while count < PRICE_BITS + 2 {
            let mut whole = 0;
            while number < 1 << 31 {
                number <<= 1;
                whole += 1;
            }
            price = 2 * (price + whole);
            number = (number * number) >> 32;
            count += 1;
        }
        prices[at] = (price / 2 + 1) / 2;
        at += 1;
    }
    prices
}

/// The price of a bit, 0 or 1.
#[inline]
pub(super) fn bit_price(probability: Probability, bit: u32) -> Price {
    let ones = 0_u32.wrapping_sub(bit) & ((1 << PROBABILITY_BITS) - 1);
    let index = (u32::from(probability) ^ ones) >> (PROBABILITY_BITS - INDEX_BITS);
    *BIT_PRICES.entry(index as usize)
}

/// The price of a bit that has no statistics.
const fn direct_price(count: u32) -> Price {
    (count << PRICE_BITS).cast_signed()
}

/// The price of a value below `N`, the highest bit first.
fn tree_price<const N: usize>(tree: &[Probability; N], value: usize) -> Price {
    let (mut node, mut price) = (value | N, 0);
    while node > 1 {
        price += bit_price(*tree.entry(node >> 1), narrow(node & 1));
        node >>= 1;
    }
    price
}

/// The price of the low `count` bits, the lowest first.
fn reverse_tree_price<const N: usize>(tree: &[Probability; N], count: u32, value: u32) -> Price {
    let (mut node, mut price) = (1, 0);
    for at in 0..count {
        let bit = value >> at & 1;
        price += bit_price(*tree.entry(node), bit);
        node = node << 1 | bit as usize;
    }
    price
}

/// The price of a bit of a literal.
#[inline]
fn node_price(table: &[Probability; LITERAL], node: usize, bit: u32) -> Price {
    table.get(node).map_or(0, |&probability| bit_price(probability, bit))
}

/// The price of a literal.
#[inline]
pub(super) fn literal_price(table: &[Probability; LITERAL], byte: u8) -> Price {
    let byte = usize::from(byte) | 0x100;
    let mut price = 0;
    for at in 0..8 {
        let node = byte >> at;
        price += node_price(table, node >> 1, narrow(node & 1));
    }
    price
}

/// The price of a literal where a match would have the byte `other`.
#[inline]
pub(super) fn literal_price_beside(table: &[Probability; LITERAL], byte: u8, other: u8) -> Price {
    let (byte, mut other) = (u32::from(byte), usize::from(other) << 1);
    let (mut node, mut beside, mut price) = (1, 0x100, 0);
    for at in (0..8).rev() {
        let bit = byte >> at & 1;
        let index = beside + (other & beside) + node;
        price += node_price(table, index, bit);
        beside &= if bit == 0 { !other } else { other };
        other <<= 1;
        node = node << 1 | bit as usize;
    }
    price
}

/// Prices of lengths, from the shortest on, by the state of the position.
#[derive(Debug)]
pub(super) struct LengthPrices([[Price; LENGTHS]; POSITION_STATES]);

impl LengthPrices {
    #[expect(clippy::large_stack_arrays, reason = "a thread's stack is large enough")]
    const fn new() -> Self {
        Self([[0; LENGTHS]; POSITION_STATES])
    }

    fn update(&mut self, lengths: &Lengths, states: usize) {
        let low = bit_price(lengths.beyond_low, 0);
        let beyond = bit_price(lengths.beyond_low, 1);
        let middle = beyond + bit_price(lengths.beyond_middle, 0);
        let high = beyond + bit_price(lengths.beyond_middle, 1);
        let mut highs = [0; 256];
        for (value, price) in highs.iter_mut().enumerate() {
            *price = high + tree_price(&lengths.high, value);
        }
        let trees = lengths.low.iter().zip(&lengths.middle);
        for (prices, (lows, middles)) in self.0.iter_mut().zip(trees).take(states) {
            let lows = (0..8).map(|value| low + tree_price(lows, value));
            let middles = (0..8).map(|value| middle + tree_price(middles, value));
            for (price, new) in prices.iter_mut().zip(lows.chain(middles).chain(highs)) {
                *price = new;
            }
        }
    }

    #[inline]
    pub(super) fn at(&self, position_state: usize) -> &[Price; LENGTHS] {
        self.0.entry(position_state)
    }
}

/// Distances whose prices are in a table.
const NEAR: usize = 1 << (FIRST_DIRECT_SLOT / 2);
/// Slots of the distances that a dictionary allows.
const USED_SLOTS: usize = 2 * MAX_LZMA_DICTIONARY.ilog2() as usize;

/// Prices of lengths and distances, which are brought up to date now and then.
#[derive(Debug)]
pub(super) struct Prices {
    pub(super) lengths: LengthPrices,
    pub(super) rep_lengths: LengthPrices,
    /// Of far distances' slots and the bits that are as likely as not.
    slots: [[Price; SLOTS]; LENGTH_STATES],
    near: [[Price; NEAR]; LENGTH_STATES],
    align: [Price; 1 << ALIGN_BITS],
}

impl Prices {
    pub(super) fn new() -> Self {
        Self {
            lengths: LengthPrices::new(),
            rep_lengths: LengthPrices::new(),
            slots: [[0; SLOTS]; LENGTH_STATES],
            near: [[0; NEAR]; LENGTH_STATES],
            align: [0; 1 << ALIGN_BITS],
        }
    }

    pub(super) fn update(&mut self, stream: &Stream<'_>) {
        let model = &stream.model;
        self.lengths.update(&model.lengths, stream.position_states());
        self.rep_lengths.update(&model.rep_lengths, stream.position_states());
        for (value, price) in (0..).zip(&mut self.align) {
            *price = reverse_tree_price(&model.align, ALIGN_BITS, value);
        }
        let mut low = [0; NEAR];
        for (distance, price) in (0..).zip(&mut low).skip(FIRST_CODED_SLOT as usize) {
            let slot = slot(distance);
            *price = reverse_tree_price(model.near.entry(slot as usize), low_bits(slot), distance);
        }
        let tables = self.slots.iter_mut().zip(&mut self.near).zip(&model.slot);
        for ((slots, near), statistics) in tables {
            for (value, price) in slots.iter_mut().enumerate().take(USED_SLOTS) {
                *price = tree_price(statistics, value);
            }
            for ((distance, price), low) in (0..).zip(near).zip(low) {
                *price = low + *slots.entry(slot(distance) as usize);
            }
            for (value, price) in (0..).zip(slots).skip(FIRST_DIRECT_SLOT as usize) {
                *price += direct_price(low_bits(value) - ALIGN_BITS);
            }
        }
    }

    /// The price of a distance, one less than the bytes it means.
    #[inline]
    pub(super) fn distance(&self, length_state: usize, distance: u32) -> Price {
        if let Some(price) = self.near.entry(length_state).get(distance as usize) {
            return *price;
        }
        let slot = slot(distance) as usize;
        self.slots.entry(length_state).entry(slot) + self.align.entry(distance as usize)
    }
}

/// The price of a match at one of the last distances, but for its length.
#[inline]
pub(super) fn rep_price(model: &Model, state: State, position_state: usize, rep: u32) -> Price {
    let state = state.index();
    let not_rep0 = *model.is_not_rep0.entry(state);
    if rep == 0 {
        let is_long = *model.is_rep0_long.entry(state).entry(position_state);
        return bit_price(not_rep0, 0) + bit_price(is_long, 1);
    }
    let others = bit_price(not_rep0, 1);
    let not_rep1 = *model.is_not_rep1.entry(state);
    if rep == 1 {
        return others + bit_price(not_rep1, 0);
    }
    let not_rep2 = *model.is_not_rep2.entry(state);
    others + bit_price(not_rep1, 1) + bit_price(not_rep2, rep - 2)
}
