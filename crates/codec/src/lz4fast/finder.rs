//! Finds the next match and its length.
//!
//! Offsets are `u32`: their sums, as `usize`, cannot overflow, so one comparison checks each load. The
//! arithmetic wraps, and what wrapped is beyond any text.

use std::hint::{black_box, select_unpredictable};

use super::emit::{MIN_MATCH, Sequence};
use crate::lz4opt::{LAST_LITERALS, MAX_DISTANCE, eight_bytes};

/// Slots of a table, of which a [`Finder`] uses some.
const SLOTS: usize = 1 << 14;
/// Positions tried before the step to the next one grows.
const PATIENCE: u32 = 64;
/// Bytes loaded at once.
const LOAD: u32 = 8;

/// The last offset that was entered for each hash; 0 if none was.
pub(super) type Table = [u32; SLOTS];

#[expect(
    clippy::large_stack_arrays,
    reason = "boxed at once, and a thread's stack is large enough"
)]
pub(super) fn new_table() -> Box<Table> {
    Box::new([0; SLOTS])
}

/// Two places that have at least four bytes in common.
pub(super) struct Found {
    pub(super) at: u32,
    /// An earlier place.
    early: u32,
    /// What differs in their first eight bytes, the first one lowest.
    differ: u64,
}

impl Found {
    const fn distance(&self) -> u32 {
        self.at.wrapping_sub(self.early)
    }

    /// Whether the earlier place is too far away for a match.
    #[inline]
    pub(super) const fn is_far(&self) -> bool {
        self.distance() as usize > MAX_DISTANCE
    }

    /// The match of `len` bytes from here on and the `back` bytes before.
    #[inline]
    pub(super) const fn extended(&self, len: u32, back: u32) -> Sequence {
        Sequence {
            start: self.at.wrapping_sub(back),
            len: len.wrapping_add(back),
            distance: self.distance(),
        }
    }
}

/// Finds matches in one text by the hash of `GRAM` bytes, in a table of `2^BITS` slots.
pub(super) struct Finder<'a, const GRAM: u32, const BITS: u32> {
    table: &'a mut Table,
    /// The text but for its last literals.
    body: &'a [u8],
}

impl<'a, const GRAM: u32, const BITS: u32> Finder<'a, GRAM, BITS> {
    pub(super) fn new(table: &'a mut Table, text: &'a [u8]) -> Self {
        const { assert!(1 << BITS <= SLOTS && GRAM >= MIN_MATCH && GRAM <= LOAD) };
        if let Some(used) = table.get_mut(..1 << BITS) {
            used.fill(0);
        }
        let body =
            text.get(..text.len().saturating_sub(LAST_LITERALS)).expect("less than the text");
        Self { table, body }
    }

    /// The first place from `at` on, which is not 0, that is found to have a match; `None` if there is none
    /// up to about `end`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call costs a fifth of the time of a short search")]
    pub(super) fn search(&mut self, mut at: u32, end: u32) -> Option<Found> {
        let mut step = 1_u32;
        loop {
            for _ in 0..PATIENCE {
                let bytes = eight_bytes(self.body, at)?;
                let early = self.replace(bytes, at);
                let differ = bytes ^ eight_bytes(self.body, early)?;
                if first_four(differ) == 0 {
                    // Or else the compiler keeps all that is computed from `at` up to date in the loop.
                    return Some(Found { at: black_box(at), early, differ });
                }
                at = at.wrapping_add(step);
            }
            step = step.wrapping_add(1);
            if at > end {
                return None;
            }
        }
    }

    /// Makes `at` known to later searches.
    #[inline]
    pub(super) fn enter(&mut self, at: u32) {
        if let Some(bytes) = eight_bytes(self.body, at) {
            self.replace(bytes, at);
        }
    }

    /// Enters `at`, where `bytes` are; returns the place entered before for their hash.
    #[inline]
    fn replace(&mut self, bytes: u64, at: u32) -> u32 {
        let gram = bytes << (64 - 8 * GRAM);
        let hash = gram.wrapping_mul(0x9E37_79B1_85EB_CA87) >> (64 - BITS);
        let slot = usize::try_from(hash).expect("a hash has few bits") & (SLOTS - 1);
        self.table.get_mut(slot).map_or(0, |slot| std::mem::replace(slot, at))
    }

    /// How many bytes the two places have in common.
    #[inline]
    pub(super) fn len(&self, found: &Found) -> u32 {
        let (at, early) = (found.at.wrapping_add(LOAD), found.early.wrapping_add(LOAD));
        let (Some(a), Some(b)) = (eight_bytes(self.body, at), eight_bytes(self.body, early)) else {
            return long_len(self.body, (found.at, found.early), 0);
        };
        let (first, second) = (equal_bytes(found.differ), equal_bytes(a ^ b));
        let len = first.wrapping_add(select_unpredictable(first == LOAD, second, 0));
        if len < 2 * LOAD { len } else { long_len(self.body, (found.at, found.early), len) }
    }

    /// How many of the `most` bytes before the two places are equal.
    #[inline]
    pub(super) fn len_back(&self, found: &Found, most: u32) -> u32 {
        let (at, early) = (found.at.wrapping_sub(LOAD), found.early.wrapping_sub(LOAD));
        if let (Some(a), Some(b)) = (eight_bytes(self.body, at), eight_bytes(self.body, early)) {
            let len = ((a ^ b).leading_zeros() / 8).min(most);
            if len < LOAD {
                return len;
            }
        }
        long_len_back(self.body, (found.at, found.early), most)
    }
}

/// How many bytes have two places in common, of which `len` are known?
///
/// What is rare is a function of its own and takes values only, so that all that is frequent stays in registers.
#[inline(never)]
fn long_len(body: &[u8], (at, early): (u32, u32), mut len: u32) -> u32 {
    while let (Some(a), Some(b)) =
        (eight_bytes(body, at.wrapping_add(len)), eight_bytes(body, early.wrapping_add(len)))
    {
        if a != b {
            return len.wrapping_add(equal_bytes(a ^ b));
        }
        len = len.wrapping_add(LOAD);
    }
    let rest = |from: u32| body.get(from.wrapping_add(len) as usize..).unwrap_or_default();
    let equal = rest(at).iter().zip(rest(early)).take_while(|(a, b)| a == b);
    equal.fold(len, |len, _| len.wrapping_add(1))
}

/// How many of the `most` bytes before two places are equal?
#[inline(never)]
fn long_len_back(body: &[u8], (at, early): (u32, u32), most: u32) -> u32 {
    let before = |end: u32| body.get(..end as usize).unwrap_or_default().iter().rev();
    let pairs = before(at).zip(before(early)).zip(0..most);
    pairs.take_while(|((a, b), _)| a == b).fold(0, |len, _| len + 1)
}

/// How many bytes, from the first one on, are zero?
#[inline]
const fn equal_bytes(differ: u64) -> u32 {
    differ.trailing_zeros() / 8
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "that is the point")]
const fn first_four(bytes: u64) -> u32 {
    bytes as u32
}
