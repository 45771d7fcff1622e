//! Reads and writes bits, the first one lowest in its byte.

/// Reads bits; beyond the end there are zeros.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// Bytes taken into `held`.
    taken: usize,
    held: u64,
    /// Bits in `held`.
    count: u32,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, taken: 0, held: 0, count: 0 }
    }

    /// Holds at least 56 bits.
    #[inline]
    pub(super) fn refill(&mut self) {
        if let Some(bytes) = self.bytes.get(self.taken..).and_then(<[u8]>::first_chunk) {
            self.held |= u64::from_le_bytes(*bytes) << self.count;
            self.taken += ((63 - self.count) >> 3) as usize;
            self.count |= 0x38;
        } else {
            self.refill_slowly();
        }
    }

    fn refill_slowly(&mut self) {
        while self.count < 56 {
            let byte = self.bytes.get(self.taken).copied().unwrap_or(0);
            self.held |= u64::from(byte) << self.count;
            self.count += 8;
            self.taken += 1;
        }
    }

    /// The bits held, the next one lowest.
    #[inline]
    pub(super) const fn peek(&self) -> u64 {
        self.held
    }

    /// Drops bits that are held.
    #[inline]
    pub(super) const fn skip(&mut self, bits: u32) {
        self.held >>= bits;
        self.count = self.count.saturating_sub(bits);
    }

    /// Takes up to 16 bits that are held.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "up to 16 bits are left")]
    pub(super) const fn take(&mut self, bits: u32) -> u32 {
        let value = (self.held & ((1 << bits) - 1)) as u32;
        self.skip(bits);
        value
    }

    /// Refills and takes up to 16 bits.
    pub(super) fn read(&mut self, bits: u32) -> u32 {
        self.refill();
        self.take(bits)
    }

    /// Skips to a whole byte and takes `len` of them.
    pub(super) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let at = self.taken.checked_sub((self.count / 8) as usize)?;
        let bytes = self.bytes.get(at..at.checked_add(len)?)?;
        (self.taken, self.held, self.count) = (at + len, 0, 0);
        Some(bytes)
    }

    /// Have more bits been taken than there were?
    pub(super) const fn is_past_end(&self) -> bool {
        self.taken > self.bytes.len() + (self.count / 8) as usize
    }

    /// Moves to the next whole byte.
    pub(super) const fn align(&mut self) {
        self.skip(self.count % 8);
    }
}

/// Writes bits into bytes; what does not fit is lost, which [`Writer::finish`] reports.
pub(super) struct Writer<'a> {
    bytes: &'a mut [u8],
    written: usize,
    held: u64,
    /// Bits in `held`, below 8 between two calls.
    count: u32,
}

impl<'a> Writer<'a> {
    pub(super) const fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, written: 0, held: 0, count: 0 }
    }

    /// Appends the low `bits` bits, at most 56, of `value`, which has no others.
    #[inline]
    pub(super) fn put(&mut self, value: u64, bits: u32) {
        self.held |= value << self.count;
        self.count += bits;
        let whole = (self.count / 8) as usize;
        if let Some(free) = self.bytes.get_mut(self.written..).and_then(<[u8]>::first_chunk_mut) {
            *free = self.held.to_le_bytes();
        } else {
            self.put_slowly(whole);
        }
        self.written += whole;
        self.held = if whole == 8 { 0 } else { self.held >> (8 * whole) };
        self.count %= 8;
    }

    fn put_slowly(&mut self, whole: usize) {
        let free = self.bytes.get_mut(self.written..).unwrap_or_default();
        for (free, byte) in free.iter_mut().zip(self.held.to_le_bytes()).take(whole) {
            *free = byte;
        }
    }

    /// Fills the byte begun, if there is one, with zeros.
    pub(super) fn align(&mut self) {
        self.put(0, (8 - self.count) % 8);
    }

    /// Appends whole bytes; [`Writer::align`] comes first.
    pub(super) fn put_bytes(&mut self, bytes: &[u8]) {
        let end = self.written + bytes.len();
        if let Some(free) = self.bytes.get_mut(self.written..end) {
            free.copy_from_slice(bytes);
        }
        self.written = end;
    }

    /// Ends with a whole byte; how many there are, if all fitted.
    pub(super) fn finish(mut self) -> Option<usize> {
        self.align();
        (self.written <= self.bytes.len()).then_some(self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read() {
        let values =
            (0..400_u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15), (n * 7 % 17) as u32));
        let values: Vec<_> = values.map(|(n, bits)| (n & ((1 << bits) - 1), bits)).collect();
        let mut bytes = [0xA5; 2000];
        let mut writer = Writer::new(&mut bytes);
        for &(value, bits) in &values {
            writer.put(value, bits);
        }
        writer.align();
        writer.put_bytes(b"abc");
        let len = writer.finish().unwrap();
        let mut reader = Reader::new(&bytes[..len]);
        for &(value, bits) in &values {
            assert_eq!(u64::from(reader.read(bits)), value);
        }
        reader.align();
        assert_eq!(reader.bytes(3), Some(&b"abc"[..]));
        assert!(!reader.is_past_end());
        reader.read(1);
        assert!(reader.is_past_end());
    }

    #[test]
    fn a_full_output_is_told() {
        let mut bytes = [0; 3];
        let mut writer = Writer::new(&mut bytes);
        writer.put(0xFFFF, 16);
        writer.put(0x1FF, 9);
        assert_eq!(writer.finish(), None);
    }
}
