//! Hashes a window of bytes that rolls over content: a gear hash. Extents are found by it wherever they start, and content is
//! divided where it has a certain value.

/// Bytes of the window: each of them is shifted out of the hash by as many others.
pub(crate) const WINDOW: usize = 64;

/// A number without pattern for each byte.
static GEAR: [u64; 256] = gear();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn gear() -> [u64; 256] {
    let mut table = [0; 256];
    let mut state = 0_u64;
    let mut at = 0;
    while at < table.len() {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[at] = number ^ (number >> 31);
        at += 1;
    }
    table
}

/// The hash of the last [`WINDOW`] bytes, of which the upper bits are the good ones: the lower ones depend on the last bytes
/// alone.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rolling(u64);

impl Rolling {
    /// The hash of a window.
    pub(crate) fn of(window: &[u8]) -> Self {
        window.iter().fold(Self::default(), |hash, byte| hash.with(*byte))
    }

    /// The hash after another byte.
    pub(crate) fn with(self, entering: u8) -> Self {
        let number = GEAR.get(usize::from(entering)).copied().unwrap_or(0);
        Self((self.0 << 1).wrapping_add(number))
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}

/// The hash of the first window; `None` if there are fewer bytes, or if all of them are equal: those start anywhere in a
/// run of zeros.
pub(crate) fn hash_of_first(bytes: &[u8]) -> Option<u64> {
    let window = bytes.get(..WINDOW)?;
    let is_one_byte = window.iter().all(|byte| Some(byte) == window.first());
    (!is_one_byte).then(|| Rolling::of(window).value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rolled_hash_is_that_of_the_window() {
        let bytes: Vec<u8> = (0..1000_u32).map(|n| (n * n % 251) as u8).collect();
        let (first, rest) = bytes.split_at(WINDOW);
        let mut hash = Rolling::of(first);
        for (at, entering) in rest.iter().enumerate() {
            hash = hash.with(*entering);
            assert_eq!(hash.value(), Rolling::of(&bytes[at + 1..=at + WINDOW]).value());
        }
        assert_eq!(hash_of_first(&bytes), Some(Rolling::of(first).value()));
        assert_eq!((hash_of_first(&[7; 100]), hash_of_first(&bytes[..WINDOW - 1])), (None, None));
    }
}
