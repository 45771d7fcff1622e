//! Defines [`Sketch`], which estimates how similar two pieces of content are.
//!
//! Content that compresses well together should be stored together. A sketch holds two things: which of 256 classes of
//! three consecutive bytes are more frequent than the mean, as nilsimsa digests do; and the strings of six bytes with the
//! smallest hashes, of which two pieces share about as many as of all their strings (min-wise hashing with one permutation).

/// Bytes of a piece that count.
const SAMPLE: usize = 256 << 10;
/// How many frequent classes in common are worth as much as one common string.
const STRING_WEIGHT: u32 = 16;
/// Strings that a sketch keeps.
pub(crate) const STRINGS: usize = 64;

/// The characteristics of a piece of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// 256 bits, each for a class of byte triples.
    classes: [u64; 4],
    /// Of the strings whose hashes fall into each bucket, the one with the smallest: its name in a byte, 0 for none.
    strings: [u8; STRINGS],
}

impl Default for Sketch {
    /// The sketch of no bytes.
    fn default() -> Self {
        Self { classes: [0; 4], strings: [0; STRINGS] }
    }
}

impl Sketch {
    /// The sketch of a piece.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..SAMPLE).unwrap_or(bytes);
        let mut counts = [0_u32; 256];
        let mut smallest = [u64::MAX; STRINGS];
        for eight in bytes.windows(8) {
            let number = eight.try_into().map_or(0, u64::from_le_bytes);
            // The first six bytes.
            let hash = (number & 0xffff_ffff_ffff).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if let Some(least) = smallest.get_mut((hash >> 58) as usize) {
                *least = (hash << 6).min(*least);
            }
            // The first three.
            let class = (number << 40).wrapping_mul(0x9e37_79b1) >> 56;
            if let Some(count) = counts.get_mut(class as usize) {
                *count += 1;
            }
        }
        // Being the smallest determines the high bits of a hash; these are still random.
        let name = |hash: u64| if hash == u64::MAX { 0 } else { hash.to_le_bytes()[4].max(1) };
        Self { classes: frequent(&counts), strings: smallest.map(name) }
    }

    /// The buckets that hold a string, and its name.
    pub(crate) fn strings(&self) -> impl Iterator<Item = (usize, u8)> {
        self.strings.into_iter().enumerate().filter(|(_, name)| *name != 0)
    }

    /// How little two pieces have in common.
    pub(crate) fn distance(&self, other: &Self) -> u32 {
        let differing: u32 =
            self.classes.iter().zip(&other.classes).map(|(a, b)| (a ^ b).count_ones()).sum();
        let pairs = self.strings.iter().zip(&other.strings);
        // At most 64; with a check for overflow it would not be vectorized.
        let missing = pairs.fold(0_u8, |missing, (a, b)| {
            missing.wrapping_add(u8::from(a != b) | u8::from(*a == 0))
        });
        differing + u32::from(missing) * STRING_WEIGHT
    }
}

/// The classes that are more frequent than the mean.
fn frequent(counts: &[u32; 256]) -> [u64; 4] {
    let all: u32 = counts.iter().sum();
    let mut classes = [0; 4];
    for (set, counts) in classes.iter_mut().zip(counts.as_chunks::<64>().0) {
        for (bit, count) in counts.iter().enumerate() {
            *set |= u64::from(u64::from(*count) * 256 > u64::from(all)) << bit;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_is_near() {
        let texts: [&[u8]; 3] = [
            b"int main(void) { return 0; }",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0",
            b"int other(void) { return 1; }",
        ];
        let [main, elf, other] = texts.map(Sketch::of);
        assert!(main.distance(&main) < main.distance(&other));
        assert!(main.distance(&elf) > main.distance(&other));
        assert_eq!(Sketch::of(b""), Sketch::default());
    }
}
