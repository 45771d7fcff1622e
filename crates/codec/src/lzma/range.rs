//! Encodes bits by their probabilities into bytes.

use super::model::{MOVE_BITS, PROBABILITY_BITS, Probability};

/// Below this the range gets another byte.
const LEAST_RANGE: u32 = 1 << 24;
/// Bytes of the encoder's own that end a stream.
const FLUSHED: usize = 5;

/// A range encoder in front of an output.
///
/// Bytes that do not fit are lost; [`RangeEncoder::len`] tells.
#[derive(Debug)]
pub(super) struct RangeEncoder<'o> {
    output: &'o mut [u8],
    place: Place,
}

/// Where in the output and inside the range an encoder is; what was encoded after one that is restored is undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    low: u64,
    range: u32,
    /// Bytes that are final.
    written: usize,
    /// Bytes after them that a carry may still change: `held`, and then those of all ones.
    pending: usize,
    held: u8,
}

impl<'o> RangeEncoder<'o> {
    pub(super) const fn new(output: &'o mut [u8]) -> Self {
        let place = Place { low: 0, range: u32::MAX, written: 0, pending: 1, held: 0 };
        Self { output, place }
    }

    /// Bytes of the whole stream if it ends here.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.place.written + self.place.pending + FLUSHED - 1
    }

    /// Bytes that are still free if the stream ends here; `None` if it is too long already.
    #[inline]
    pub(super) const fn room(&self) -> Option<usize> {
        self.output.len().checked_sub(self.len())
    }

    pub(super) const fn place(&self) -> Place {
        self.place
    }

    pub(super) const fn restore(&mut self, place: Place) {
        self.place = place;
    }

    /// Ends the stream with `first` as its first byte, and returns its length.
    pub(super) fn finish(mut self, first: u8) -> usize {
        for _ in 0..FLUSHED {
            self.shift();
        }
        if let Some(byte) = self.output.first_mut() {
            *byte = first;
        }
        self.place.written
    }

    /// Encodes a bit, 0 or 1, and adapts its probability.
    #[inline]
    pub(super) fn bit(&mut self, probability: &mut Probability, bit: u32) {
        let place = &mut self.place;
        let zero = u32::from(*probability);
        let bound = (place.range >> PROBABILITY_BITS).wrapping_mul(zero);
        // Which bit it is can't be foreseen, so there is no branch.
        let ones = 0_u32.wrapping_sub(bit);
        place.low = place.low.wrapping_add(u64::from(bound & ones));
        place.range = (bound & !ones) | (place.range.wrapping_sub(bound) & ones);
        *probability = adapted(*probability, bit);
        self.normalize();
    }

    /// Encodes a value below `N`, the highest bit first, each with statistics of its own by those before.
    #[inline]
    pub(super) fn tree<const N: usize>(&mut self, tree: &mut [Probability; N], value: u32) {
        let mut node = 1;
        for at in (0..N.trailing_zeros()).rev() {
            node = self.node(tree, node, value >> at & 1);
        }
    }

    /// The same for the low `count` bits of a value, the lowest first.
    #[inline]
    pub(super) fn reverse_tree<const N: usize>(
        &mut self,
        tree: &mut [Probability; N],
        count: u32,
        value: u32,
    ) {
        let mut node = 1;
        for at in 0..count {
            node = self.node(tree, node, value >> at & 1);
        }
    }

    /// Encodes a bit at a node of a tree; the next node.
    #[inline]
    pub(super) fn node(&mut self, tree: &mut [Probability], node: usize, bit: u32) -> usize {
        if let Some(probability) = tree.get_mut(node) {
            self.bit(probability, bit);
        }
        node << 1 | bit as usize
    }

    /// Encodes the low `count` bits of `value`, the highest first, each as likely as not.
    #[inline]
    pub(super) fn direct(&mut self, value: u32, count: u32) {
        for at in (0..count).rev() {
            let ones = 0_u32.wrapping_sub(value >> at & 1);
            self.place.range >>= 1;
            self.place.low = self.place.low.wrapping_add(u64::from(self.place.range & ones));
            self.normalize();
        }
    }

    #[inline]
    fn normalize(&mut self) {
        if self.place.range < LEAST_RANGE {
            self.place.range <<= 8;
            self.shift();
        }
    }

    /// Moves the highest byte out of the range.
    fn shift(&mut self) {
        let place = &mut self.place;
        let [b0, b1, b2, high, carry, ..] = place.low.to_le_bytes();
        if high < 0xFF || carry != 0 {
            let mut byte = place.held;
            while place.pending > 0 {
                if let Some(free) = self.output.get_mut(place.written) {
                    *free = byte.wrapping_add(carry);
                }
                place.written += 1;
                place.pending -= 1;
                byte = 0xFF;
            }
            place.held = high;
        }
        place.pending += 1;
        place.low = u64::from(u32::from_le_bytes([0, b0, b1, b2]));
    }
}

/// A probability after a bit.
#[inline]
const fn adapted(probability: Probability, bit: u32) -> Probability {
    // Rounded such that neither certainty is ever reached.
    let target = if bit == 0 { 1 << PROBABILITY_BITS } else { (1 << MOVE_BITS) - 1 };
    let zero = probability.cast_signed();
    (zero + ((target - zero) >> MOVE_BITS)).cast_unsigned()
}
