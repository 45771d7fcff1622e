//! Defines the statistics of a stream, which adapt to each symbol.

/// How likely the next bit is zero, in units of 2^-11.
pub(super) type Probability = u16;
/// Bits of a probability.
pub(super) const PROBABILITY_BITS: u32 = 11;
/// No bit is more likely.
pub(super) const EVEN: Probability = 1 << (PROBABILITY_BITS - 1);
/// How much a probability moves with each bit: by this many bits less than the distance to certainty.
pub(super) const MOVE_BITS: u32 = 5;

/// Access to tables by indexes that are known to be below their length, a power of two.
pub(super) trait Table {
    type Item;
    fn entry(&self, index: usize) -> &Self::Item;
    fn entry_mut(&mut self, index: usize) -> &mut Self::Item;
}

impl<T, const N: usize> Table for [T; N] {
    type Item = T;

    #[inline]
    fn entry(&self, index: usize) -> &T {
        const { assert!(N.is_power_of_two()) };
        self.get(index & (N - 1)).expect("a masked index")
    }

    #[inline]
    fn entry_mut(&mut self, index: usize) -> &mut T {
        const { assert!(N.is_power_of_two()) };
        self.get_mut(index & (N - 1)).expect("a masked index")
    }
}

/// Shortest and longest match.
pub(super) const MIN_MATCH: usize = 2;
pub(super) const MAX_MATCH: usize = 273;
/// Lengths of a match.
pub(super) const LENGTHS: usize = MAX_MATCH - MIN_MATCH + 1;
/// Most states of the position that are distinguished.
pub(super) const POSITION_STATES: usize = 16;
/// Distances used again.
pub(super) const REPS: usize = 4;
/// Classes of lengths by which slots of distances are distinguished.
pub(super) const LENGTH_STATES: usize = 4;
/// Slots of distances.
pub(super) const SLOTS: usize = 64;
/// The first slot of more than one distance, and the first of which not all bits have statistics.
pub(super) const FIRST_CODED_SLOT: u32 = 4;
pub(super) const FIRST_DIRECT_SLOT: u32 = 14;
/// Bits of a far distance that have statistics.
pub(super) const ALIGN_BITS: u32 = 4;
/// Statistics of one literal: for itself, and beside the byte that a match would have, by its bit.
pub(super) const LITERAL: usize = 0x300;

/// Which kinds of symbols came last; those from [`State::FIRST_AFTER_MATCH`] on follow no literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u8);

impl State {
    /// More than there are, for tables to have a power of two.
    pub(super) const COUNT: usize = 16;
    const FIRST_AFTER_MATCH: u8 = 7;

    pub(super) const START: Self = Self(0);

    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(super) const fn follows_literal(self) -> bool {
        self.0 < Self::FIRST_AFTER_MATCH
    }

    #[inline]
    pub(super) const fn after_literal(self) -> Self {
        Self(match self.0 {
            0..4 => 0,
            4..10 => self.0 - 3,
            _ => self.0 - 6,
        })
    }

    #[inline]
    pub(super) const fn after_match(self) -> Self {
        Self(if self.follows_literal() { 7 } else { 10 })
    }

    /// After a match at a distance used before.
    #[inline]
    pub(super) const fn after_rep(self) -> Self {
        Self(if self.follows_literal() { 8 } else { 11 })
    }

    /// After a single byte at the last distance.
    #[inline]
    pub(super) const fn after_short_rep(self) -> Self {
        Self(if self.follows_literal() { 9 } else { 11 })
    }
}

/// Statistics of lengths.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    /// Whether it is more than 9.
    pub(super) beyond_low: Probability,
    /// Whether it is more than 17.
    pub(super) beyond_middle: Probability,
    pub(super) low: [[Probability; 8]; POSITION_STATES],
    pub(super) middle: [[Probability; 8]; POSITION_STATES],
    pub(super) high: [Probability; 256],
}

impl Lengths {
    const fn new() -> Self {
        Self {
            beyond_low: EVEN,
            beyond_middle: EVEN,
            low: [[EVEN; 8]; POSITION_STATES],
            middle: [[EVEN; 8]; POSITION_STATES],
            high: [EVEN; 256],
        }
    }
}

/// Statistics of all that is not a literal.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) is_match: [[Probability; POSITION_STATES]; State::COUNT],
    /// Whether the distance is one of the last four.
    pub(super) is_rep: [Probability; State::COUNT],
    /// Whether it is another than the last one.
    pub(super) is_not_rep0: [Probability; State::COUNT],
    /// Whether it is another than the last two.
    pub(super) is_not_rep1: [Probability; State::COUNT],
    /// Whether it is the last of the four.
    pub(super) is_not_rep2: [Probability; State::COUNT],
    /// Whether a match at the last distance has more than a byte.
    pub(super) is_rep0_long: [[Probability; POSITION_STATES]; State::COUNT],
    pub(super) slot: [[Probability; SLOTS]; LENGTH_STATES],
    /// The bits below the first two of a distance, by its slot.
    pub(super) near: [[Probability; 32]; 16],
    pub(super) align: [Probability; 1 << ALIGN_BITS],
    pub(super) lengths: Lengths,
    pub(super) rep_lengths: Lengths,
}

impl Model {
    pub(super) const fn new() -> Self {
        Self {
            is_match: [[EVEN; POSITION_STATES]; State::COUNT],
            is_rep: [EVEN; State::COUNT],
            is_not_rep0: [EVEN; State::COUNT],
            is_not_rep1: [EVEN; State::COUNT],
            is_not_rep2: [EVEN; State::COUNT],
            is_rep0_long: [[EVEN; POSITION_STATES]; State::COUNT],
            slot: [[EVEN; SLOTS]; LENGTH_STATES],
            near: [[EVEN; 32]; 16],
            align: [EVEN; 1 << ALIGN_BITS],
            lengths: Lengths::new(),
            rep_lengths: Lengths::new(),
        }
    }
}
