//! Reads bits from the end of a stream.

/// A stream that is read from its last byte to its first, below a closing one bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backward<'a> {
    bytes: &'a [u8],
    /// Bits not yet read.
    left: usize,
}

impl<'a> Backward<'a> {
    /// Begins below the closing bit; `None` if there is none.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let last = *bytes.last()?;
        let top = last.checked_ilog2()?;
        Some(Self { bytes, left: (bytes.len() - 1) * 8 + usize::try_from(top).ok()? })
    }

    /// Bits not yet read.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// The next `count` bits, at most 32.
    #[inline]
    pub(crate) fn read(&mut self, count: u32) -> Option<u32> {
        self.left = self.left.checked_sub(count as usize)?;
        let word = word(self.bytes, self.left / 8) >> (self.left % 8);
        let [a, b, c, d, ..] = (word & ((1 << count) - 1)).to_le_bytes();
        Some(u32::from_le_bytes([a, b, c, d]))
    }
}

/// The eight bytes from `at` on, little-endian; beyond the end are zeros.
#[inline]
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.first_chunk().map_or_else(|| short_word(rest), |&word| u64::from_le_bytes(word))
}

fn short_word(rest: &[u8]) -> u64 {
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Adds to `out` the bits of `bytes` from `from` on, without the zeros after the last one.
pub(crate) fn shifted(bytes: &[u8], from: usize, out: &mut Vec<u8>) {
    let (mut at, shift) = (from / 8, from % 8);
    let end = out.len() + (bytes.len() * 8).saturating_sub(from).div_ceil(8);
    while out.len() < end {
        // Seven bytes are whole whatever the shift.
        let moved = (word(bytes, at) >> shift).to_le_bytes();
        let count = (end - out.len()).min(7);
        out.extend_from_slice(moved.get(..count).expect("at most seven of eight bytes"));
        at += 7;
    }
    while out.last() == Some(&0) {
        out.pop();
    }
}
