//! Assigns Huffman codes to symbols, and decodes them.

/// Most symbols of one code here.
const MAX_SYMBOLS: usize = 288;
/// Longest code of DEFLATE.
pub(super) const MAX_BITS: usize = 15;

/// The number of symbols that have each code length.
type Counts = [u32; MAX_BITS + 1];

/// Chooses code lengths of at most `limit` bits for the symbols that occur; the others get 0.
///
/// A code has at least two symbols, even where fewer occur: some decoders refuse less.
pub(super) fn code_lengths(frequencies: &[u32], limit: usize, lengths: &mut [u8]) {
    lengths.fill(0);
    let mut sorted = [0_u32; MAX_SYMBOLS];
    let used = sort_used(frequencies, &mut sorted);
    if used < 2 {
        let only = sorted.first().map_or(0, |&entry| symbol(entry)) * used.min(1);
        for (at, length) in lengths.iter_mut().enumerate() {
            *length = u8::from(at == only || at == usize::from(only == 0));
        }
        return;
    }
    let sorted = sorted.get(..used).expect("the number of entries written to it");
    let mut counts = depths(sorted);
    shorten(&mut counts, limit);
    // The rarest symbols get the longest codes.
    let mut rest = sorted.iter();
    for (length, &count) in (0..=255_u8).zip(&counts).rev() {
        for &entry in rest.by_ref().take(count as usize) {
            if let Some(free) = lengths.get_mut(symbol(entry)) {
                *free = length;
            }
        }
    }
}

const SYMBOL_BITS: u32 = 9;

const fn symbol(entry: u32) -> usize {
    (entry & ((1 << SYMBOL_BITS) - 1)) as usize
}

/// Puts frequency and symbol of all symbols that occur into `sorted`, the rarest first.
fn sort_used(frequencies: &[u32], sorted: &mut [u32; MAX_SYMBOLS]) -> usize {
    let mut used = 0;
    for (symbol, &frequency) in (0_u32..).zip(frequencies) {
        if let (1.., Some(free)) = (frequency, sorted.get_mut(used)) {
            *free = frequency.min(u32::MAX >> SYMBOL_BITS) << SYMBOL_BITS | symbol;
            used += 1;
        }
    }
    sorted.get_mut(..used).expect("one for each symbol at most").sort_unstable();
    used
}

/// How many leaves of Huffman's tree are at each depth; those deeper than [`MAX_BITS`] count as there.
///
/// Two queues, both from small to large: the leaves, and the inner nodes in the order they are made.
fn depths(sorted: &[u32]) -> Counts {
    let mut weights = [0_u32; MAX_SYMBOLS];
    // For each inner node, the inner node above it.
    let mut parents = [0_u16; MAX_SYMBOLS];
    let mut leaves = sorted.iter().map(|entry| entry >> SYMBOL_BITS).peekable();
    let mut inner = 0;
    // Leaves directly below each inner node.
    let mut leaves_below = [0_u8; MAX_SYMBOLS];
    let nodes = sorted.len() - 1;
    for node in 0..nodes {
        let mut weight = 0_u32;
        for _ in 0..2 {
            let first = weights.get(inner).copied().filter(|_| inner < node);
            match (leaves.peek().copied(), first) {
                (Some(leaf), first) if first.is_none_or(|first| leaf <= first) => {
                    weight = weight.saturating_add(leaf);
                    leaves.next();
                    if let Some(below) = leaves_below.get_mut(node) {
                        *below += 1;
                    }
                }
                _ => {
                    weight = weight.saturating_add(first.unwrap_or(0));
                    if let Some(parent) = parents.get_mut(inner) {
                        *parent = u16::try_from(node).expect("nodes are fewer than symbols");
                    }
                    inner += 1;
                }
            }
        }
        if let Some(free) = weights.get_mut(node) {
            *free = weight;
        }
    }
    count_depths(&parents, &leaves_below, nodes)
}

/// Goes down from the root, which was made last.
fn count_depths(
    parents: &[u16; MAX_SYMBOLS],
    leaves_below: &[u8; MAX_SYMBOLS],
    nodes: usize,
) -> Counts {
    let mut counts = [0; MAX_BITS + 1];
    let mut depths = [0_u16; MAX_SYMBOLS];
    for node in (0..nodes).rev() {
        let parent = *parents.get(node).expect("nodes are fewer than symbols");
        let above = if node + 1 == nodes { None } else { depths.get(usize::from(parent)).copied() };
        let depth = above.map_or(0, |depth| depth + 1);
        if let Some(free) = depths.get_mut(node) {
            *free = depth;
        }
        let leaf_depth = usize::from(depth + 1).min(MAX_BITS);
        if let Some(count) = counts.get_mut(leaf_depth) {
            *count += u32::from(*leaves_below.get(node).expect("nodes are fewer than symbols"));
        }
    }
    counts
}

/// Brings all codes to at most `limit` bits and the code back to completeness.
fn shorten(counts: &mut Counts, limit: usize) {
    let (kept, beyond) = counts.split_at_mut(limit + 1);
    let excess: u32 = beyond.iter().sum();
    beyond.fill(0);
    let Some((longest, shorter)) = kept.split_last_mut() else { return };
    *longest += excess;
    // In units of the longest code, of which there are 2^limit.
    let taken = |(length, &count): (usize, &u32)| u64::from(count) << (limit - length);
    let sum: u64 = shorter.iter().enumerate().skip(1).map(taken).sum();
    let mut surplus = (sum + u64::from(*longest)).saturating_sub(1 << limit);
    while surplus > 0 {
        // A leaf goes one deeper, and one of the deepest beside it: one unit less is taken.
        let Some(at) = shorter.iter().rposition(|&count| count > 0) else { return };
        if let Some(count) = shorter.get_mut(at) {
            *count -= 1;
        }
        *longest = longest.saturating_sub(1);
        match shorter.get_mut(at + 1) {
            Some(count) => *count += 2,
            None => *longest += 2,
        }
        surplus -= 1;
    }
}

/// The code of each symbol, its first bit lowest as it is written.
pub(super) fn codes(lengths: &[u8], codes: &mut [u16]) {
    let mut next = first_codes(lengths);
    for (&length, code) in lengths.iter().zip(codes) {
        let Some(value) = next.get_mut(usize::from(length)).filter(|_| length > 0) else {
            continue;
        };
        *code = (*value << (16 - u32::from(length))).reverse_bits();
        *value = value.wrapping_add(1);
    }
}

/// The smallest code of each length.
fn first_codes(lengths: &[u8]) -> [u16; MAX_BITS + 1] {
    let counts = count_lengths(lengths);
    let mut next = [0; MAX_BITS + 1];
    let mut code = 0_u16;
    for (first, &count) in next.iter_mut().zip(&counts).skip(1) {
        *first = code;
        code = code.wrapping_add(count).wrapping_shl(1);
    }
    next
}

fn count_lengths(lengths: &[u8]) -> [u16; MAX_BITS + 1] {
    let mut counts = [0; MAX_BITS + 1];
    for &length in lengths.iter().filter(|&&length| length > 0) {
        if let Some(count) = counts.get_mut(usize::from(length)) {
            *count += 1;
        }
    }
    counts
}

/// Finds the symbol at the beginning of bits.
#[derive(Debug)]
pub(super) struct Decoder {
    /// For the first bits, symbol and length; a length of 0 where the code is longer.
    table: Box<[u16; 1 << Self::TABLE_BITS]>,
    /// Symbols by code.
    symbols: [u16; MAX_SYMBOLS],
    counts: [u16; MAX_BITS + 1],
}

impl Decoder {
    const TABLE_BITS: u32 = 10;

    pub(super) fn new() -> Self {
        let table = Box::new([0; 1 << Self::TABLE_BITS]);
        Self { table, symbols: [0; MAX_SYMBOLS], counts: [0; MAX_BITS + 1] }
    }

    /// Takes over a code.
    pub(super) fn set(&mut self, lengths: &[u8]) {
        self.counts = count_lengths(lengths);
        let mut code = [0_u16; MAX_SYMBOLS];
        codes(lengths, &mut code);
        let mut places = [0_u16; MAX_BITS + 1];
        let mut place = 0;
        for (free, count) in places.iter_mut().zip(self.counts).skip(1) {
            *free = place;
            place += count;
        }
        self.table.fill(0);
        for ((symbol, &length), &code) in (0_u16..).zip(lengths).zip(&code) {
            if length == 0 {
                continue;
            }
            if let Some(place) = places.get_mut(usize::from(length)) {
                if let Some(free) = self.symbols.get_mut(usize::from(*place)) {
                    *free = symbol;
                }
                *place += 1;
            }
            if u32::from(length) <= Self::TABLE_BITS {
                let entries = self.table.iter_mut().skip(code.into());
                for entry in entries.step_by(1 << length) {
                    *entry = symbol << 4 | u16::from(length);
                }
            }
        }
    }

    /// The symbol that `bits` begin with, and the length of its code.
    #[inline]
    pub(super) fn decode(&self, bits: u64) -> Option<(u32, u32)> {
        let short = (bits & ((1 << Self::TABLE_BITS) - 1)) as usize;
        let entry = u32::from(*self.table.get(short).expect("a value of `TABLE_BITS`"));
        if entry & 15 != 0 { Some((entry >> 4, entry & 15)) } else { self.decode_long(bits) }
    }

    fn decode_long(&self, mut bits: u64) -> Option<(u32, u32)> {
        let (mut code, mut first, mut place) = (0_u32, 0, 0);
        for (length, &count) in (0_u32..).zip(&self.counts).skip(1) {
            let count = u32::from(count);
            code = code << 1 | (bits & 1) as u32;
            bits >>= 1;
            first <<= 1;
            if let Some(nth) = code.checked_sub(first).filter(|&nth| nth < count) {
                let symbol = self.symbols.get((place + nth) as usize)?;
                return Some(((*symbol).into(), length));
            }
            first += count;
            place += count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kraft(lengths: &[u8]) -> u32 {
        lengths.iter().filter(|&&length| length > 0).map(|&length| 1 << (15 - length)).sum()
    }

    fn cost(frequencies: &[u32], lengths: &[u8]) -> u64 {
        frequencies.iter().zip(lengths).map(|(&f, &l)| u64::from(f) * u64::from(l)).sum()
    }

    proptest! {
        #[test]
        fn codes_are_complete_and_decode(
            frequencies in prop::collection::vec(prop_oneof![Just(0_u32), 1..9_u32, 1..90_000_u32], 2..286),
            limit in 9..=15_usize,
        ) {
            let mut lengths = vec![0; frequencies.len()];
            code_lengths(&frequencies, limit, &mut lengths);
            prop_assert_eq!(kraft(&lengths), 1 << 15);
            prop_assert!(lengths.iter().all(|&length| usize::from(length) <= limit));
            prop_assert!(frequencies.iter().zip(&lengths).all(|(&f, &l)| f == 0 || l > 0));
            let mut bits = vec![0; lengths.len()];
            codes(&lengths, &mut bits);
            let mut decoder = Decoder::new();
            decoder.set(&lengths);
            for ((symbol, &length), &code) in (0..).zip(&lengths).zip(&bits) {
                if length > 0 {
                    let padded = u64::from(code) | u64::MAX << length;
                    prop_assert_eq!(decoder.decode(padded), Some((symbol, length.into())));
                }
            }
        }
    }

    #[test]
    fn frequent_symbols_get_short_codes() {
        let frequencies = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144];
        let mut lengths = [0; 12];
        code_lengths(&frequencies, 15, &mut lengths);
        assert_eq!(lengths, [11, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
        code_lengths(&frequencies, 7, &mut lengths);
        assert_eq!(kraft(&lengths), 1 << 15);
        assert!(cost(&frequencies, &lengths) <= 1001, "{}", cost(&frequencies, &lengths));
        for (frequencies, expected) in
            [([0, 0, 0], [1, 1, 0]), ([7, 0, 0], [1, 1, 0]), ([0, 0, 7], [1, 0, 1])]
        {
            let mut lengths = [9; 3];
            code_lengths(&frequencies, 15, &mut lengths);
            assert_eq!(lengths, expected);
        }
    }
}
