//! Picks places of content by the bytes before them, so that equal bytes are picked wherever they are.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes that a sample stands for.
pub(crate) const WINDOW: usize = 32;

/// Calls `found` with the hash of the bytes before each picked place: about one in `2^rarity`.
pub(crate) fn samples(bytes: &[u8], rarity: u32, mut found: impl FnMut(u64)) {
    let mut rolling = 0_u32;
    for (end, byte) in bytes.iter().enumerate() {
        // A byte has left the hash once it was shifted 32 times.
        rolling = (rolling << 1).wrapping_add(gear(*byte));
        if rolling >> (32 - rarity) == 0 && end + 1 >= WINDOW {
            let window = bytes.get(end + 1 - WINDOW..=end).unwrap_or_default();
            if window.iter().any(|byte| Some(byte) != window.first()) {
                found(xxh3_64(window));
            }
        }
    }
}

/// A number without pattern for each byte: the finisher of `MurmurHash3`.
const fn gear(byte: u8) -> u32 {
    let mut x = (byte as u32 + 1).wrapping_mul(0x9e37_79b9);
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}
