//! Defines the symbols of DEFLATE and the bits that follow their codes.

/// Symbols for literals, the end of a block and lengths.
pub(super) const LITLENS: usize = 286;
/// Symbols for distances.
pub(super) const DISTANCES: usize = 30;
/// The symbol that ends a block.
pub(super) const END: usize = 256;
/// The symbol of the shortest length.
pub(super) const FIRST_LENGTH_SYMBOL: u32 = 257;
/// The same as an index.
pub(super) const FIRST_LENGTH: usize = FIRST_LENGTH_SYMBOL as usize;
/// Shortest match.
pub(super) const MIN_MATCH: u32 = 3;
/// Longest match; it has a symbol of its own.
pub(super) const MAX_MATCH: u32 = 258;
/// Farthest distance.
pub(super) const WINDOW: usize = 32 << 10;

/// A literal, or a match with its length and distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token(u32);

/// A symbol, counted from the first of its kind, and what follows its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coded {
    pub(super) symbol: usize,
    pub(super) extra_bits: u32,
    pub(super) extra: u32,
}

impl Token {
    const MATCH: u32 = 1 << 31;
    const LEN_BITS: u32 = 9;

    #[inline]
    pub(super) fn literal(byte: u8) -> Self {
        Self(byte.into())
    }

    /// A match of 3 to 258 bytes at a distance of 1 to 32768.
    #[inline]
    pub(super) const fn matched(len: u32, distance: u32) -> Self {
        Self(Self::MATCH | distance << Self::LEN_BITS | len)
    }

    /// Length and distance of a match.
    #[inline]
    pub(super) const fn as_match(self) -> Option<(u32, u32)> {
        if self.0 & Self::MATCH == 0 {
            return None;
        }
        let len = self.0 & ((1 << Self::LEN_BITS) - 1);
        Some((len, (self.0 & !Self::MATCH) >> Self::LEN_BITS))
    }

    /// The symbol of a literal.
    #[inline]
    pub(super) const fn byte(self) -> usize {
        (self.0 & 0xFF) as usize
    }

    /// Bytes that the token encodes.
    #[inline]
    pub(super) const fn len(self) -> usize {
        match self.as_match() {
            Some((len, _)) => len as usize,
            None => 1,
        }
    }
}

/// The symbol of each length.
static LENGTH_SYMBOLS: [u8; MAX_MATCH as usize + 1] = length_symbols();
/// The symbols of distances up to 256, and those of others by 128ths.
static DISTANCE_SYMBOLS: [u8; 512] = distance_symbols();

#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "known when this is compiled"
)]
const fn length_symbols() -> [u8; MAX_MATCH as usize + 1] {
    let mut symbols = [0; MAX_MATCH as usize + 1];
    let mut len = MIN_MATCH;
    while len <= MAX_MATCH {
        symbols[len as usize] = code_length(len).symbol as u8;
        len += 1;
    }
    symbols
}

#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "known when this is compiled"
)]
const fn distance_symbols() -> [u8; 512] {
    let mut symbols = [0; 512];
    let mut at = 0;
    while at < 256 {
        symbols[at] = code_distance(at as u32 + 1).symbol as u8;
        symbols[256 + at] = code_distance((at as u32) << 7 | 1).symbol as u8;
        at += 1;
    }
    symbols
}

/// The symbol of a length from 3 to 258.
#[inline]
pub(super) fn length_symbol(len: u32) -> usize {
    LENGTH_SYMBOLS.get(len as usize).copied().unwrap_or(0).into()
}

/// The symbol of a distance from 1 to 32768.
#[inline]
pub(super) fn distance_symbol(distance: u32) -> usize {
    let value = distance.wrapping_sub(1);
    let at = if value < 256 { value } else { 256 + (value >> 7) };
    DISTANCE_SYMBOLS.get(at as usize).copied().unwrap_or(0).into()
}

/// How a length from 3 to 258 is written.
#[inline]
pub(super) const fn code_length(len: u32) -> Coded {
    if len >= MAX_MATCH {
        return Coded { symbol: 28, extra_bits: 0, extra: 0 };
    }
    code(len.saturating_sub(MIN_MATCH), 2)
}

/// How a distance from 1 to 32768 is written.
#[inline]
pub(super) const fn code_distance(distance: u32) -> Coded {
    code(distance.saturating_sub(1), 1)
}

/// Symbols by the highest bit of `value` and the `below` bits after it; the rest is extra.
#[inline]
const fn code(value: u32, below: u32) -> Coded {
    if value < 2 << below {
        return Coded { symbol: value as usize, extra_bits: 0, extra: 0 };
    }
    let extra_bits = value.ilog2() - below;
    let symbol = (extra_bits << below) + (value >> extra_bits);
    Coded { symbol: symbol as usize, extra_bits, extra: value & ((1 << extra_bits) - 1) }
}

/// Extra bits and the shortest length of length symbol `symbol`, counted from 0.
#[inline]
pub(super) const fn length_of(symbol: u32) -> (u32, u32) {
    if symbol >= 28 {
        return (0, MAX_MATCH);
    }
    let (bits, base) = base_of(symbol, 2);
    (bits, base + MIN_MATCH)
}

/// Extra bits and the nearest distance of distance symbol `symbol`.
#[inline]
pub(super) const fn distance_of(symbol: u32) -> (u32, u32) {
    let (bits, base) = base_of(symbol, 1);
    (bits, base + 1)
}

#[inline]
const fn base_of(symbol: u32, below: u32) -> (u32, u32) {
    let extra_bits = (symbol >> below).saturating_sub(1);
    (extra_bits, (symbol - (extra_bits << below)) << extra_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_distances_code_and_decode() {
        for len in MIN_MATCH..=MAX_MATCH {
            let coded = code_length(len);
            let (bits, base) = length_of(coded.symbol.try_into().unwrap());
            assert_eq!((bits, base + coded.extra), (coded.extra_bits, len));
            assert!(coded.symbol < 29);
            assert_eq!(length_symbol(len), coded.symbol);
        }
        for distance in 1..=32768 {
            let coded = code_distance(distance);
            let (bits, base) = distance_of(coded.symbol.try_into().unwrap());
            assert_eq!((bits, base + coded.extra), (coded.extra_bits, distance));
            assert!(coded.symbol < DISTANCES);
            assert_eq!(distance_symbol(distance), coded.symbol);
        }
        assert_eq!(code_length(257), Coded { symbol: 27, extra_bits: 5, extra: 30 });
        assert_eq!(code_distance(24577), Coded { symbol: 29, extra_bits: 13, extra: 0 });
        assert_eq!(Token::matched(258, 32768).as_match(), Some((258, 32768)));
    }
}
