//! Where should one block end and the next begin?

use super::block::{Codes, Histogram, cheapest};
use super::token::Token;

/// Tokens that are never taken apart.
const UNIT: usize = 768;
/// Longest match for which literals may be cheaper.
const MAX_SPELLED: u32 = 8;

/// Neighbouring units that share their codes.
struct Group {
    tokens: usize,
    histogram: Histogram,
    bits: u64,
}

impl Group {
    fn new(tokens: usize, histogram: Histogram) -> Box<Self> {
        let (_, bits) = cheapest(&histogram, 0);
        Box::new(Self { tokens, histogram, bits })
    }

    fn with(&self, other: &Self) -> Box<Self> {
        let mut histogram = self.histogram.clone();
        histogram.merge(&other.histogram);
        Self::new(self.tokens + other.tokens, histogram)
    }
}

/// Two neighbours as one, and the bits that saves.
struct Union {
    group: Box<Group>,
    saved: u64,
}

impl Union {
    fn of(a: &Group, b: &Group) -> Option<Self> {
        let group = a.with(b);
        let saved = (a.bits + b.bits).checked_sub(group.bits)?;
        Some(Self { group, saved })
    }
}

/// Splits tokens into blocks; the number of tokens of each.
///
/// Beginning with small units, the two neighbours are joined that save most, until none saves anything.
pub(super) fn split(tokens: &[Token]) -> Vec<usize> {
    let mut groups: Vec<_> =
        tokens.chunks(UNIT).map(|unit| Group::new(unit.len(), Histogram::of(unit))).collect();
    let pairs = groups.iter().zip(groups.iter().skip(1));
    let mut unions: Vec<_> = pairs.map(|(a, b)| Union::of(a, b)).collect();
    while let Some((at, union)) = best(&mut unions) {
        unions.remove(at);
        groups.remove(at + 1);
        if let Some(group) = groups.get_mut(at) {
            *group = union.group;
        }
        for pair in [at.checked_sub(1), Some(at)].into_iter().flatten() {
            if let (Some(free), Some([a, b])) = (unions.get_mut(pair), groups.get(pair..pair + 2)) {
                *free = Union::of(a, b);
            }
        }
    }
    groups.iter().map(|group| group.tokens).collect()
}

/// The union that saves most; the first of equals.
fn best(unions: &mut [Option<Union>]) -> Option<(usize, Union)> {
    let saved = |union: &Option<Union>| union.as_ref().map(|union| union.saved);
    let at = (0..unions.len()).rev().max_by_key(|&at| unions.get(at).and_then(saved))?;
    Some((at, unions.get_mut(at)?.take()?))
}

/// Appends `tokens` to `cheaper`, with literals where those cost less than a short match.
///
/// `content` is what the tokens stand for; they are one block of their own.
pub(super) fn spell(tokens: &[Token], content: &[u8], cheaper: &mut Vec<Token>) {
    let codes = Codes::of(&Histogram::of(tokens));
    let mut rest = content;
    for &token in tokens {
        let Some((bytes, after)) = rest.split_at_checked(token.len()) else { return };
        rest = after;
        match token.as_match() {
            Some((len @ ..=MAX_SPELLED, distance))
                if bytes.iter().map(|&byte| codes.literal_bits(byte)).sum::<u32>()
                    < codes.match_bits(len, distance) =>
            {
                cheaper.extend(bytes.iter().copied().map(Token::literal));
            }
            _ => cheaper.push(token),
        }
    }
}
