//! Divides content into [`Stretch`]es, so that equal content is divided alike: content-defined chunking with a gear hash.
//!
//! A stretch ends where the last bytes hash to a value with some zero bits, so borders move along with what is inserted or
//! removed before them. (A chunk, elsewhere, is a unit of the format.)

use xxhash_rust::xxh3::xxh3_64;

use crate::window::Rolling;

/// A stretch has about `1 << LEAST_BITS` bytes, or more if there is very much content.
const LEAST_BITS: u32 = 11;
/// The most stretches of all content together, about: each takes 24 bytes of memory.
const MOST_STRETCHES: u64 = 1 << 19;

/// Bytes between two borders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Where it starts in the file.
    pub(crate) start: u64,
    pub(crate) len: u32,
    /// Of its bytes; `None` if all of them are equal, which compresses well enough.
    pub(crate) hash: Option<u64>,
}

/// How many bits must be zero at a border, with so much content in all.
pub(super) fn stretch_bits(content: u64) -> u32 {
    let mut bits = LEAST_BITS;
    while content >> bits > MOST_STRETCHES {
        bits += 1;
    }
    bits
}

/// The stretches of bytes that start at `start` in their file.
pub(super) fn stretches(bytes: &[u8], start: u64, bits: u32) -> Vec<Stretch> {
    let mut stretches = Vec::with_capacity(bytes.len() >> bits);
    let (mut position, mut rest) = (start, bytes);
    while !rest.is_empty() {
        let (stretch, after) = rest.split_at(first_border(rest, bits));
        let is_one_byte = stretch.windows(2).all(|pair| pair.first() == pair.last());
        let hash = (!is_one_byte).then(|| xxh3_64(stretch));
        let len = u32::try_from(stretch.len());
        let len = len.expect("a stretch has at most eight times the usual length");
        stretches.push(Stretch { start: position, len, hash });
        position += u64::from(len);
        rest = after;
    }
    stretches
}

fn first_border(bytes: &[u8], bits: u32) -> usize {
    let (least, most) = (1_usize << (bits - 2), 8_usize << bits);
    let bytes = bytes.get(..most).unwrap_or(bytes);
    let (upper, mut hash) = (u64::MAX << (64 - bits), Rolling::default());
    let mut ends_with = |byte: &u8| {
        hash = hash.with(*byte);
        hash.value() & upper == 0
    };
    let (fours, rest) = bytes.get(least..).unwrap_or_default().as_chunks::<4>();
    for (at, four) in fours.iter().enumerate() {
        if let Some(within) = four.iter().position(&mut ends_with) {
            return least + 4 * at + within + 1;
        }
    }
    let within = rest.iter().position(ends_with);
    within.map_or(bytes.len(), |within| bytes.len() - rest.len() + within + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    #[test]
    fn stretches_are_contiguous_and_about_as_long_as_requested() {
        let bytes = noise(1 << 20);
        let stretches = stretches(&bytes, 7, 11);
        let mut position = 7;
        for stretch in &stretches {
            assert_eq!(stretch.start, position);
            position += u64::from(stretch.len);
        }
        assert_eq!(position, 7 + (1 << 20));
        assert!((200..800).contains(&stretches.len()), "{}", stretches.len());
    }

    #[test]
    fn borders_move_with_the_content() {
        let bytes = noise(100_000);
        let moved = [b"inserted", &bytes[..]].concat();
        let hashes = |bytes: &[u8]| -> Vec<_> {
            stretches(bytes, 0, 11).into_iter().map(|stretch| stretch.hash).collect()
        };
        let (one, other) = (hashes(&bytes), hashes(&moved));
        let common = one.iter().filter(|hash| other.contains(hash)).count();
        assert!(common + 2 >= one.len(), "{common} of {}", one.len());
    }

    #[test]
    fn a_run_of_one_byte_has_no_hash() {
        assert!(stretches(&vec![0; 100_000], 0, 11).iter().all(|stretch| stretch.hash.is_none()));
    }

    #[test]
    fn much_content_has_longer_stretches() {
        assert_eq!(stretch_bits(0), LEAST_BITS);
        assert_eq!(stretch_bits(1 << 30), LEAST_BITS);
        assert_eq!(stretch_bits(10 << 30), 15);
    }
}
