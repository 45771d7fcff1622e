//! Computes what a block costs, and writes it.

use super::bits::Writer;
use super::huffman::{MAX_BITS, code_lengths, codes};
use super::token::{
    DISTANCES, END, FIRST_LENGTH, LITLENS, Token, code_distance, code_length, distance_of,
    length_of,
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
        for &token in tokens {
            self.add(token);
        }
    }

    #[inline]
    fn add(&mut self, token: Token) {
        let symbol = match token.as_match() {
            None => token.byte(),
            Some((len, distance)) => {
                let symbol = code_distance(distance).symbol;
                if let Some(count) = self.distances.get_mut(symbol) {
                    *count += 1;
                }
                FIRST_LENGTH + code_length(len).symbol
            }
        };
        if let Some(count) = self.litlens.get_mut(symbol) {
            *count += 1;
        }
        self.bytes += token.len();
    }

    /// Counts `bytes` as literals instead of a match.
    pub(super) fn spell(&mut self, token: Token, bytes: &[u8]) {
        let Some((len, distance)) = token.as_match() else { return };
        let symbol = FIRST_LENGTH + code_length(len).symbol;
        if let Some(count) = self.litlens.get_mut(symbol) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.distances.get_mut(code_distance(distance).symbol) {
            *count = count.saturating_sub(1);
        }
        for &byte in bytes {
            if let Some(count) = self.litlens.get_mut(usize::from(byte)) {
                *count += 1;
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (count, &more) in self.litlens.iter_mut().zip(&other.litlens) {
            *count += more;
        }
        for (count, &more) in self.distances.iter_mut().zip(&other.distances) {
            *count += more;
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
        let sum = |counts: &[u32], lengths: &[u8]| -> u64 {
            counts.iter().zip(lengths).map(|(&count, &len)| u64::from(count) * u64::from(len)).sum()
        };
        let [.., end] = self.litlens.first_chunk::<{ END + 1 }>().copied().unwrap_or([0; END + 1]);
        3 + self.header.bits
            + sum(&histogram.litlens, &self.litlens)
            + sum(&histogram.distances, &self.distances)
            + u64::from(end)
            + histogram.extra_bits()
    }

    /// Bits of a literal; a symbol without code counts as a rare one.
    #[inline]
    pub(super) fn literal_bits(&self, byte: u8) -> u32 {
        bits_of(self.litlens.get(usize::from(byte)))
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
    length.copied().filter(|&bits| bits > 0).map_or(14, u32::from)
}

/// The cheapest form of a block that begins after `start` bits, and the bits it takes.
pub(super) fn cheapest(histogram: &Histogram, start: u64) -> (Form, u64) {
    let dynamic = (Form::Dynamic, Codes::of(histogram).bits(histogram));
    let fixed = (Form::Fixed, fixed_bits(histogram));
    let stored = (Form::Stored, stored_bits(histogram.bytes, start));
    let best = if fixed.1 < dynamic.1 { fixed } else { dynamic };
    if stored.1 < best.1 { stored } else { best }
}

fn fixed_bits(histogram: &Histogram) -> u64 {
    let litlens = histogram.litlens.iter().zip(&FIXED_LITLENS);
    let litlens: u64 = litlens.map(|(&count, &len)| u64::from(count) * u64::from(len)).sum();
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
        let mut code = [0; 19];
        codes(&self.precode, &mut code);
        for &(symbol, extra) in self.items() {
            put_code(writer, &code, &self.precode, symbol.into());
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

#[inline(always)]
#[expect(clippy::inline_always, reason = "a call for each token takes 2 % more instructions")]
fn put_code(writer: &mut Writer<'_>, codes: &[u16], lengths: &[u8], symbol: usize) {
    let (code, length) =
        codes.get(symbol).zip(lengths.get(symbol)).expect("each symbol has a code");
    writer.put((*code).into(), (*length).into());
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
        let (mut litlens, mut distances) = ([0; 288], [0; 32]);
        codes(&lengths.litlens, &mut litlens);
        codes(&lengths.distances, &mut distances);
        for token in self.tokens {
            let Some((len, distance)) = token.as_match() else {
                put_code(writer, &litlens, &lengths.litlens, token.byte());
                continue;
            };
            let (len, distance) = (code_length(len), code_distance(distance));
            put_code(writer, &litlens, &lengths.litlens, FIRST_LENGTH + len.symbol);
            writer.put(len.extra.into(), len.extra_bits);
            put_code(writer, &distances, &lengths.distances, distance.symbol);
            writer.put(distance.extra.into(), distance.extra_bits);
        }
        put_code(writer, &litlens, &lengths.litlens, END);
    }
}
