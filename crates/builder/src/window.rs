//! Hashes a window of bytes that rolls over content, by which extents are found wherever they start.

/// Bytes of the window.
pub(crate) const WINDOW: usize = 64;

/// An odd number without pattern.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a byte contributes when it leaves the window, by its value.
static LEAVING: [u64; 256] = leaving();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn leaving() -> [u64; 256] {
    let (mut power, mut at) = (1_u64, 0);
    while at < WINDOW {
        power = power.wrapping_mul(FACTOR);
        at += 1;
    }
    let mut table = [0; 256];
    let (mut at, mut sum) = (0, 0_u64);
    while at < table.len() {
        table[at] = sum;
        sum = sum.wrapping_add(power);
        at += 1;
    }
    table
}

/// The hash of the last [`WINDOW`] bytes, a polynomial of which the upper bits are the good ones.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rolling(u64);

impl Rolling {
    /// The hash of the first bytes.
    pub(crate) fn of(window: &[u8]) -> Self {
        window.iter().fold(Self::default(), |hash, byte| hash.with(*byte))
    }

    const fn with(self, byte: u8) -> Self {
        Self(self.0.wrapping_mul(FACTOR).wrapping_add(byte as u64))
    }

    /// The hash after `entering` follows and `left` is no longer in the window.
    pub(crate) fn roll(self, left: u8, entering: u8) -> Self {
        let left = LEAVING.get(usize::from(left)).copied().unwrap_or(0);
        Self(self.with(entering).0.wrapping_sub(left))
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
            hash = hash.roll(bytes[at], *entering);
            assert_eq!(hash.value(), Rolling::of(&bytes[at + 1..=at + WINDOW]).value());
        }
        assert_eq!(hash_of_first(&bytes), Some(Rolling::of(first).value()));
        assert_eq!((hash_of_first(&[7; 100]), hash_of_first(&bytes[..WINDOW - 1])), (None, None));
    }
}
