//! Computes what a block costs, and writes it.

use super::bits::Writer;
use super::huffman::{MAX_BITS, code_lengths, codes};
use super::token::{
    Coded, DISTANCES, END, FIRST_LENGTH, LITLENS, Token, code_distance, code_length, distance_of,
    distance_symbol, length_of, length_symbol,
};

/// The order in which a header lists the precode's lengths.
pub(super) const PRECODE_ORDER: [usize; 19] =
    [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Code lengths of the fixed code.
#[expect(clippy::indexing_slicing, reason = "known when this is compiled")]
pub(super) const FIXED_LITLENS: [u8; 288] = {
    let mut lengths = [8; 288];
    let mut at = 144;
    while at < 280 {
        lengths[at] = if at < 256 { 9 } else { 7 };
        at += 1;
    }
    lengths
};
const FIXED_DISTANCE: u32 = 5;
/// Bits that a symbol without code is taken to have.
const RARE: u8 = 14;
/// Most bytes of a stored block.
const MAX_STORED: usize = 65_535;
/// Longest code of the precode.
const PRECODE_MAX_BITS: usize = 7;

/// How often each symbol occurs, and how many bytes that is.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    pub(super) litlens: [u32; 288],
    pub(super) distances: [u32; 32],
    pub(super) bytes: usize,
}

impl Histogram {
    pub(super) const fn new() -> Self {
        Self { litlens: [0; 288], distances: [0; 32], bytes: 0 }
    }

    pub(super) fn of(tokens: &[Token]) -> Self {
        let mut histogram = Self::new();
        histogram.add_all(tokens);
        histogram
    }

    pub(super) fn add_all(&mut self, tokens: &[Token]) {
        // No count and no sum exceeds the bytes of an input.
        for &token in tokens {
            let (symbol, len) = match token.as_match() {
                None => (token.byte(), 1),
                Some((len, distance)) => {
                    if let Some(count) = self.distances.get_mut(distance_symbol(distance)) {
                        *count = count.wrapping_add(1);
                    }
                    (FIRST_LENGTH + length_symbol(len), len as usize)
                }
            };
            if let Some(count) = self.litlens.get_mut(symbol) {
                *count = count.wrapping_add(1);
            }
            self.bytes = self.bytes.wrapping_add(len);
        }
    }

    /// Counts `bytes` as literals instead of a match.
    pub(super) fn spell(&mut self, token: Token, bytes: &[u8]) {
        let Some((len, distance)) = token.as_match() else { return };
        let symbol = FIRST_LENGTH + length_symbol(len);
        if let Some(count) = self.litlens.get_mut(symbol) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.distances.get_mut(distance_symbol(distance)) {
            *count = count.saturating_sub(1);
        }
        for &byte in bytes {
            if let Some(count) = self.litlens.get_mut(usize::from(byte)) {
                *count += 1;
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        // As above; with checks for overflow it would not be vectorized.
        for (count, &more) in self.litlens.iter_mut().zip(&other.litlens) {
            *count = count.wrapping_add(more);
        }
        for (count, &more) in self.distances.iter_mut().zip(&other.distances) {
            *count = count.wrapping_add(more);
        }
        self.bytes += other.bytes;
    }

    /// Bits beside the codes.
    pub(super) fn extra_bits(&self) -> u64 {
        let lengths = (0..).zip(self.litlens.iter().skip(FIRST_LENGTH));
        let distances = (0..).zip(&self.distances);
        let lengths =
            lengths.map(|(symbol, &count)| u64::from(count) * u64::from(length_of(symbol).0));
        let distances =
            distances.map(|(symbol, &count)| u64::from(count) * u64::from(distance_of(symbol).0));
        lengths.sum::<u64>() + distances.sum::<u64>()
    }
}

/// How a block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Stored,
    Fixed,
    Dynamic,
}

/// The codes of a dynamic block.
#[derive(Clone, Debug)]
pub(super) struct Codes {
    litlens: [u8; 288],
    distances: [u8; 32],
    header: Header,
}

impl Codes {
    pub(super) fn of(histogram: &Histogram) -> Self {
        let (mut litlens, mut distances) = ([0; 288], [0; 32]);
        let mut frequencies = histogram.litlens;
        frequencies[END] = 1;
        code_lengths(&frequencies, MAX_BITS, &mut litlens);
        code_lengths(&histogram.distances, MAX_BITS, &mut distances);
        let header = Header::of(&litlens, &distances);
        Self { litlens, distances, header }
    }

    fn fixed() -> Self {
        Self { litlens: FIXED_LITLENS, distances: [5; 32], header: Header::new() }
    }

    /// Bits of a block with these codes.
    fn bits(&self, histogram: &Histogram) -> u64 {
        let [.., end] = self.litlens.first_chunk::<{ END + 1 }>().copied().unwrap_or([0; END + 1]);
        3 + self.header.bits
            + weighted(&histogram.litlens, &self.litlens)
            + weighted(&histogram.distances, &self.distances)
            + u64::from(end)
            + histogram.extra_bits()
    }

    /// Bits of each literal; a symbol without code counts as a rare one.
    pub(super) fn literal_bits(&self) -> [u8; 256] {
        let mut bits = [0; 256];
        for (bits, len) in bits.iter_mut().zip(&self.litlens) {
            *bits = if *len == 0 { RARE } else { *len };
        }
        bits
    }

    /// Bits of a match.
    #[inline]
    pub(super) fn match_bits(&self, len: u32, distance: u32) -> u32 {
        let (len, distance) = (code_length(len), code_distance(distance));
        bits_of(self.litlens.get(FIRST_LENGTH + len.symbol))
            + len.extra_bits
            + bits_of(self.distances.get(distance.symbol))
            + distance.extra_bits
    }
}

#[inline]
fn bits_of(length: Option<&u8>) -> u32 {
    length.copied().filter(|&bits| bits > 0).unwrap_or(RARE).into()
}

/// The cheapest form of a block that begins after `start` bits, and the bits it takes.
pub(super) fn cheapest(histogram: &Histogram, start: u64) -> (Form, u64) {
    let dynamic = (Form::Dynamic, Codes::of(histogram).bits(histogram));
    let fixed = (Form::Fixed, fixed_bits(histogram));
    let stored = (Form::Stored, stored_bits(histogram.bytes, start));
    let best = if fixed.1 < dynamic.1 { fixed } else { dynamic };
    if stored.1 < best.1 { stored } else { best }
}

/// What symbols take that occur so often and have codes of these lengths.
fn weighted(counts: &[u32], lengths: &[u8]) -> u64 {
    let products =
        counts.iter().zip(lengths).map(|(&count, &len)| u64::from(count) * u64::from(len));
    // No input has bytes enough for an overflow.
    products.fold(0, u64::wrapping_add)
}

fn fixed_bits(histogram: &Histogram) -> u64 {
    let litlens = weighted(&histogram.litlens, &FIXED_LITLENS);
    let distances: u64 = histogram.distances.iter().map(|&count| u64::from(count)).sum();
    let end = 7;
    3 + litlens + distances * u64::from(FIXED_DISTANCE) + end + histogram.extra_bits()
}

fn stored_bits(bytes: usize, start: u64) -> u64 {
    let blocks = bytes.div_ceil(MAX_STORED).max(1) as u64;
    let first = (start + 3).next_multiple_of(8) - start + 32;
    first + (blocks - 1) * 40 + 8 * bytes as u64
}

/// What comes before the tokens of a dynamic block.
#[derive(Clone, Debug)]
struct Header {
    /// Precode symbol and its extra value, for each run of equal lengths.
    items: [(u8, u8); 320],
    count: usize,
    litlens: usize,
    distances: usize,
    /// Lengths of the precode.
    precode: [u8; 19],
    /// How many of them are given.
    given: usize,
    bits: u64,
}

impl Header {
    const fn new() -> Self {
        Self {
            items: [(0, 0); 320],
            count: 0,
            litlens: 0,
            distances: 0,
            precode: [0; 19],
            given: 0,
            bits: 0,
        }
    }

    fn of(litlens: &[u8; 288], distances: &[u8; 32]) -> Self {
        let mut header = Self::new();
        let last = |lengths: &[u8]| lengths.iter().rposition(|&length| length > 0);
        header.litlens = last(litlens).map_or(257, |last| (last + 1).clamp(257, LITLENS));
        header.distances = last(distances).map_or(1, |last| (last + 1).min(DISTANCES));
        let mut all = [0; 320];
        let lengths = litlens.iter().take(header.litlens);
        let count = header.litlens + header.distances;
        for (free, &length) in all.iter_mut().zip(lengths.chain(distances)).take(count) {
            *free = length;
        }
        for run in all.get(..count).expect("286 and 30 lengths at most").chunk_by(|a, b| a == b) {
            header.push_run(run);
        }
        header.choose_precode();
        header
    }

    /// Appends items for equal lengths.
    fn push_run(&mut self, run: &[u8]) {
        let (value, mut rest) = (*run.first().expect("a run is not empty"), run.len());
        if value != 0 {
            self.push(value, 0);
            rest -= 1;
        }
        while rest >= 3 {
            let (symbol, least, most) = match (value, rest) {
                (0, 11..) => (18, 11, 138),
                (0, _) => (17, 3, 10),
                _ => (16, 3, 6),
            };
            let taken = rest.min(most);
            self.push(symbol, u8::try_from(taken - least).expect("a run has at most 138 items"));
            rest -= taken;
        }
        for _ in 0..rest {
            self.push(value, 0);
        }
    }

    fn push(&mut self, symbol: u8, extra: u8) {
        if let Some(free) = self.items.get_mut(self.count) {
            *free = (symbol, extra);
            self.count += 1;
        }
    }

    fn items(&self) -> &[(u8, u8)] {
        self.items.get(..self.count).expect("the number of what was pushed")
    }

    fn choose_precode(&mut self) {
        let mut frequencies = [0_u32; 19];
        let mut extra = 0;
        for &(symbol, _) in self.items.iter().take(self.count) {
            if let Some(count) = frequencies.get_mut(usize::from(symbol)) {
                *count += 1;
            }
            extra += u64::from(precode_extra_bits(symbol));
        }
        code_lengths(&frequencies, PRECODE_MAX_BITS, &mut self.precode);
        let lengths = |symbol: &usize| self.precode.get(*symbol).is_some_and(|&length| length > 0);
        self.given = PRECODE_ORDER.iter().rposition(lengths).map_or(4, |last| (last + 1).max(4));
        let items = frequencies.iter().zip(&self.precode);
        let items: u64 = items.map(|(&count, &len)| u64::from(count) * u64::from(len)).sum();
        self.bits = 14 + 3 * self.given as u64 + items + extra;
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.put(self.litlens as u64 - 257, 5);
        writer.put(self.distances as u64 - 1, 5);
        writer.put(self.given as u64 - 4, 4);
        for &symbol in PRECODE_ORDER.iter().take(self.given) {
            writer.put((*self.precode.get(symbol).expect("the order names 19 symbols")).into(), 3);
        }
        let precode = Code::all(&self.precode);
        for &(symbol, extra) in self.items() {
            precode.of(symbol.into()).put(writer);
            writer.put(extra.into(), precode_extra_bits(symbol));
        }
    }
}

const fn precode_extra_bits(symbol: u8) -> u32 {
    match symbol {
        16 => 2,
        17 => 3,
        18 => 7,
        _ => 0,
    }
}

/// A block and the bytes that it encodes.
pub(super) struct Block<'a> {
    pub(super) tokens: &'a [Token],
    /// The bytes of the tokens.
    pub(super) content: &'a [u8],
    pub(super) form: Form,
    pub(super) is_last: bool,
}

impl Block<'_> {
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        match self.form {
            Form::Stored => self.write_stored(writer),
            Form::Fixed => {
                writer.put(u64::from(self.is_last) | 1 << 1, 3);
                self.write_tokens(writer, &Codes::fixed());
            }
            Form::Dynamic => {
                let codes = Codes::of(&Histogram::of(self.tokens));
                writer.put(u64::from(self.is_last) | 2 << 1, 3);
                codes.header.write(writer);
                self.write_tokens(writer, &codes);
            }
        }
    }

    fn write_stored(&self, writer: &mut Writer<'_>) {
        let mut parts = self.content.chunks(MAX_STORED).peekable();
        while let Some(part) = parts.next() {
            writer.put(u64::from(self.is_last && parts.peek().is_none()), 3);
            writer.align();
            let len = part.len() as u64;
            writer.put(len | (len ^ 0xFFFF) << 16, 32);
            writer.put_bytes(part);
        }
    }

    fn write_tokens(&self, writer: &mut Writer<'_>, lengths: &Codes) {
        let litlens = Code::all(&lengths.litlens);
        let distances = Code::all(&lengths.distances);
        for token in self.tokens {
            let Some((len, distance)) = token.as_match() else {
                litlens.of(token.byte()).put(writer);
                continue;
            };
            // At most 15, 5, 15 and 13 bits.
            let (len, distance) = (code_length(len), code_distance(distance));
            let (mut value, mut bits) = litlens.of(FIRST_LENGTH + len.symbol).then(&len);
            let (more, count) = distances.of(distance.symbol).then(&distance);
            value |= more << bits;
            bits += count;
            writer.put(value, bits);
        }
        litlens.of(END).put(writer);
    }
}

/// The code of a symbol, and its number of bits.
#[derive(Clone, Copy, Debug, Default)]
struct Code {
    bits: u16,
    len: u16,
}

/// The codes of all symbols of a kind.
struct AllCodes<const N: usize>([Code; N]);

impl Code {
    fn all<const N: usize>(lengths: &[u8; N]) -> AllCodes<N> {
        let mut values = [0; N];
        codes(lengths, &mut values);
        let mut all = [Self::default(); N];
        for ((code, bits), len) in all.iter_mut().zip(values).zip(lengths) {
            *code = Self { bits, len: u16::from(*len) };
        }
        AllCodes(all)
    }

    #[inline]
    fn put(self, writer: &mut Writer<'_>) {
        writer.put(self.bits.into(), self.len.into());
    }

    /// The bits of the code and of what follows it, and how many they are.
    #[inline]
    fn then(self, coded: &Coded) -> (u64, u32) {
        let len = u32::from(self.len);
        (u64::from(self.bits) | u64::from(coded.extra) << len, len + coded.extra_bits)
    }
}

impl<const N: usize> AllCodes<N> {
    #[inline]
    fn of(&self, symbol: usize) -> Code {
        *self.0.get(symbol).expect("each symbol has a code")
    }
}
