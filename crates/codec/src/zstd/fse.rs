//! Reads tables of finite state entropy codes.

use super::bits::word;

/// The largest accuracy of any table: literal and match lengths.
const MAX_LOG: u32 = 9;
/// Most symbols of any table: match lengths, 53.
const MAX_SYMBOLS: usize = 64;

/// One state of a decoder.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    pub(crate) symbol: u8,
    /// Bits to read for the next state.
    pub(crate) bits: u8,
    /// What is added to them.
    pub(crate) base: u16,
}

/// A decoding table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) log: u32,
    states: [State; 1 << MAX_LOG],
}

/// How often each symbol occurs, of `1 << log` times; -1 is less than once.
#[derive(Clone, Copy, Debug)]
struct Counts {
    log: u32,
    of: [i16; MAX_SYMBOLS],
    len: usize,
}

impl Table {
    /// The table of `counts`, one of those that the format predefines.
    pub(crate) fn predefined(log: u32, counts: &[i16]) -> Option<Self> {
        let mut all = Counts { log, of: [0; MAX_SYMBOLS], len: 0 };
        counts.iter().try_for_each(|&count| all.push(count))?;
        Self::new(&all)
    }

    /// The table that always returns `symbol`.
    pub(crate) fn rle(symbol: u8) -> Self {
        let state = State { symbol, bits: 0, base: 0 };
        Self { log: 0, states: [state; 1 << MAX_LOG] }
    }

    /// The table described at the beginning of `bytes`, and the length of the description.
    pub(crate) fn read(bytes: &[u8], max_log: u32) -> Option<(Self, usize)> {
        let (counts, used) = Counts::read(bytes, max_log)?;
        Some((Self::new(&counts)?, used))
    }

    #[inline]
    pub(crate) fn state(&self, at: u32) -> Option<State> {
        self.states.get(at as usize).copied()
    }

    fn new(counts: &Counts) -> Option<Self> {
        let size = 1_usize.checked_shl(counts.log).filter(|&size| size <= 1 << MAX_LOG)?;
        let mut table = Self { log: counts.log, states: [State::default(); 1 << MAX_LOG] };
        let symbols = || (0_u8..).zip(counts.of.iter().take(counts.len));
        let mut end = size;
        for (symbol, _) in symbols().filter(|&(_, &count)| count == -1) {
            end = end.checked_sub(1)?;
            table.states.get_mut(end)?.symbol = symbol;
        }
        let (step, mut at) = ((size >> 1) + (size >> 3) + 3, 0);
        for (symbol, &count) in symbols() {
            for _ in 0..count.max(0) {
                table.states.get_mut(at)?.symbol = symbol;
                at = (at + step) & (size - 1);
                while at >= end && end > 0 {
                    at = (at + step) & (size - 1);
                }
            }
        }
        table.link(size, counts)?;
        (at == 0).then_some(table)
    }

    /// Says for each state where it leads.
    fn link(&mut self, size: usize, counts: &Counts) -> Option<()> {
        let mut next = counts.of.map(i16::unsigned_abs);
        for state in self.states.get_mut(..size)? {
            let next = next.get_mut(usize::from(state.symbol))?;
            let bits = counts.log.checked_sub(next.checked_ilog2()?)?;
            state.bits = u8::try_from(bits).ok()?;
            state.base = u16::try_from((usize::from(*next) << bits) - size).ok()?;
            *next += 1;
        }
        Some(())
    }
}

impl Counts {
    fn push(&mut self, count: i16) -> Option<()> {
        *self.of.get_mut(self.len)? = count;
        self.len += 1;
        Some(())
    }

    fn read(bytes: &[u8], max_log: u32) -> Option<(Self, usize)> {
        let mut bits = Forward { bytes, at: 0 };
        let log = bits.take(4) + 5;
        if log > max_log {
            return None;
        }
        let mut counts = Self { log, of: [0; MAX_SYMBOLS], len: 0 };
        let mut left = 1_i32 << log;
        while left > 0 {
            let count = bits.count(left)?;
            left -= count.abs();
            counts.push(i16::try_from(count).ok()?)?;
            let mut more = count == 0;
            while more {
                let zeros = bits.take(2);
                (0..zeros).try_for_each(|_| counts.push(0))?;
                more = zeros == 3;
            }
        }
        let used = bits.at.div_ceil(8);
        (left == 0 && used <= bytes.len()).then_some((counts, used))
    }
}

/// Bits read from the beginning; beyond the end are zeros.
struct Forward<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Forward<'_> {
    fn peek(&self, count: u32) -> u32 {
        let word = word(self.bytes, self.at / 8) >> (self.at % 8) & ((1 << count) - 1);
        u32::try_from(word).expect("fewer than 32 bits are read at a time")
    }

    fn take(&mut self, count: u32) -> u32 {
        let bits = self.peek(count);
        self.at += count as usize;
        bits
    }

    /// A count where `left` are still to be given out: one of -1 to `left`, in as few bits as that takes.
    fn count(&mut self, left: i32) -> Option<i32> {
        let highest = u32::try_from(left).ok()? + 1;
        let width = highest.ilog2() + 1;
        let short = (1 << width) - 1 - highest;
        let low = self.peek(width - 1);
        let value = if low < short {
            self.take(width - 1)
        } else {
            let value = self.take(width);
            if value >= 1 << (width - 1) { value - short } else { value }
        };
        Some(i32::try_from(value).ok()? - 1)
    }
}
