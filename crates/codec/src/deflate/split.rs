//! Chooses where one block ends and the next starts.

use super::block::{Codes, Histogram, cheapest};
use super::estimate::block_bits;
use super::token::Token;

/// Tokens that are never taken apart.
const UNIT: usize = 1024;
/// Longest match for which literals may be cheaper.
const MAX_SPELLED: u32 = 8;

/// Neighbouring tokens that share their codes.
pub(super) struct Group {
    /// How many they are.
    pub(super) tokens: usize,
    pub(super) histogram: Box<Histogram>,
    /// About what they cost.
    bits: u64,
}

/// What a block takes, exactly or about.
type Price = fn(&Histogram) -> u64;

impl Group {
    fn new(tokens: usize, histogram: Histogram, price: Price) -> Self {
        let bits = price(&histogram);
        Self { tokens, histogram: Box::new(histogram), bits }
    }

    fn with(&self, other: &Self, price: Price) -> Self {
        let mut histogram = Histogram::clone(&self.histogram);
        histogram.merge(&other.histogram);
        Self::new(self.tokens + other.tokens, histogram, price)
    }
}

/// Two neighbours as one, and the bits that saves.
struct Union {
    group: Group,
    saved: u64,
}

impl Union {
    fn of(a: &Group, b: &Group, price: Price) -> Option<Self> {
        let group = a.with(b, price);
        let saved = (a.bits + b.bits).checked_sub(group.bits)?;
        Some(Self { group, saved })
    }
}

/// Splits tokens into blocks.
///
/// Beginning with small units, neighbours are joined: first by quick estimates, then the few groups
/// left by what they really take.
pub(super) fn split(tokens: &[Token]) -> Vec<Group> {
    let units = tokens.chunks(UNIT);
    let units = units.map(|unit| Group::new(unit.len(), Histogram::of(unit), block_bits));
    let mut groups = units.collect();
    join(&mut groups, block_bits);
    let exact: Price = |histogram| cheapest(histogram, 0).1;
    for group in &mut groups {
        group.bits = exact(&group.histogram);
    }
    join(&mut groups, exact);
    groups
}

/// Joins the two neighbours that save most, until none saves anything.
fn join(groups: &mut Vec<Group>, price: Price) {
    let pairs = groups.iter().zip(groups.iter().skip(1));
    let mut unions: Vec<_> = pairs.map(|(a, b)| Union::of(a, b, price)).collect();
    while let Some((at, union)) = best(&mut unions) {
        unions.remove(at);
        groups.remove(at + 1);
        if let Some(group) = groups.get_mut(at) {
            *group = union.group;
        }
        for pair in [at.checked_sub(1), Some(at)].into_iter().flatten() {
            if let (Some(free), Some([a, b])) = (unions.get_mut(pair), groups.get(pair..pair + 2)) {
                *free = Union::of(a, b, price);
            }
        }
    }
}

/// The union that saves most; the first of equals.
fn best(unions: &mut [Option<Union>]) -> Option<(usize, Union)> {
    let saved = |union: &Option<Union>| union.as_ref().map(|union| union.saved);
    let at = (0..unions.len()).rev().max_by_key(|&at| unions.get(at).and_then(saved))?;
    Some((at, unions.get_mut(at)?.take()?))
}

/// Appends the tokens of `group` to `cheaper`, with literals where those cost less than a short match; the
/// group changes with them.
///
/// `content` begins with the bytes that the tokens encode.
pub(super) fn spell(group: &mut Group, tokens: &[Token], content: &[u8], cheaper: &mut Vec<Token>) {
    let codes = Codes::of(&group.histogram);
    let literals = codes.literal_bits();
    let spelled = |bytes: &[u8]| -> u32 {
        let bits = bytes.iter().filter_map(|&byte| literals.get(usize::from(byte)));
        bits.fold(0, |sum, &bits| sum + u32::from(bits))
    };
    let before = cheaper.len();
    let mut rest = content;
    for &token in tokens {
        let Some((bytes, after)) = rest.split_at_checked(token.len()) else { return };
        rest = after;
        match token.as_match() {
            Some((len @ ..=MAX_SPELLED, distance))
                if spelled(bytes) < codes.match_bits(len, distance) =>
            {
                group.histogram.spell(token, bytes);
                cheaper.extend(bytes.iter().copied().map(Token::literal));
            }
            _ => cheaper.push(token),
        }
    }
    group.tokens = cheaper.len() - before;
}
