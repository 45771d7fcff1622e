//! Where is content cut so that equal content is cut alike?
//!
//! A chunk ends where the last bytes hash to a value with some zero bits, so that cuts move along with what is inserted or
//! removed before them (content-defined chunking with a gear hash).

use xxhash_rust::xxh3::xxh3_64;

/// A chunk has about `1 << LEAST_BITS` bytes, or more where there is very much content.
const LEAST_BITS: u32 = 11;
/// The most chunks of all content together.
const MOST_CHUNKS: u64 = 1 << 19;

/// Bytes between two cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Where it begins in the file.
    pub(crate) start: u64,
    pub(crate) len: u32,
    /// Of its bytes; nothing if all of them are equal, which compresses well enough.
    pub(crate) hash: Option<u64>,
}

/// How many bits must be zero at a cut, with so much content in all.
pub(crate) fn chunk_bits(content: u64) -> u32 {
    let mut bits = LEAST_BITS;
    while content >> bits > MOST_CHUNKS {
        bits += 1;
    }
    bits
}

/// The chunks of bytes that begin at `start` in their file.
pub(crate) fn chunks(bytes: &[u8], start: u64, bits: u32) -> Vec<Chunk> {
    let mut chunks = Vec::with_capacity(bytes.len() >> bits);
    let (mut position, mut rest) = (start, bytes);
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(first_cut(rest, bits));
        let is_one_byte = chunk.windows(2).all(|pair| pair.first() == pair.last());
        let hash = (!is_one_byte).then(|| xxh3_64(chunk));
        // Eight times the usual length at most.
        let len = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        chunks.push(Chunk { start: position, len, hash });
        position += u64::from(len);
        rest = behind;
    }
    chunks
}

fn first_cut(bytes: &[u8], bits: u32) -> usize {
    let (least, most) = (1_usize << (bits - 2), 8_usize << bits);
    let mut hash = 0_u64;
    let sought = bytes.iter().take(most).enumerate().skip(least);
    for (at, byte) in sought {
        hash = (hash << 1).wrapping_add(GEAR.get(usize::from(*byte)).copied().unwrap_or(0));
        if hash >> (64 - bits) == 0 {
            return at + 1;
        }
    }
    bytes.len().min(most)
}

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
    fn chunks_follow_each_other_and_are_about_as_long_as_asked_for() {
        let bytes = noise(1 << 20);
        let chunks = chunks(&bytes, 7, 11);
        let mut position = 7;
        for chunk in &chunks {
            assert_eq!(chunk.start, position);
            position += u64::from(chunk.len);
        }
        assert_eq!(position, 7 + (1 << 20));
        assert!((200..800).contains(&chunks.len()), "{}", chunks.len());
    }

    #[test]
    fn cuts_move_with_the_content() {
        let bytes = noise(100_000);
        let moved = [b"inserted", &bytes[..]].concat();
        let hashes = |bytes: &[u8]| -> Vec<_> {
            chunks(bytes, 0, 11).into_iter().map(|chunk| chunk.hash).collect()
        };
        let (one, other) = (hashes(&bytes), hashes(&moved));
        let common = one.iter().filter(|hash| other.contains(hash)).count();
        assert!(common + 2 >= one.len(), "{common} of {}", one.len());
    }

    #[test]
    fn what_is_one_byte_all_over_has_no_hash() {
        assert!(chunks(&vec![0; 100_000], 0, 11).iter().all(|chunk| chunk.hash.is_none()));
    }

    #[test]
    fn much_content_has_longer_chunks() {
        assert_eq!(chunk_bits(0), LEAST_BITS);
        assert_eq!(chunk_bits(1 << 30), LEAST_BITS);
        assert_eq!(chunk_bits(10 << 30), 15);
    }
}
