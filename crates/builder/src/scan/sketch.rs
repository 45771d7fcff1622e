//! Defines [`Sketch`], which estimates how similar two pieces of content are.
//!
//! Content that compresses well together should be stored together. A sketch holds two things: which of 256 classes of
//! three consecutive bytes are more frequent than the mean, as nilsimsa digests do; and the strings of six bytes with the
//! smallest hashes, of which two pieces share about as many as of all their strings (min-wise hashing with one permutation).

/// Bytes of a piece that count.
const SAMPLE: usize = 256 << 10;
/// The first bytes, among which new smallest hashes are frequent.
const EARLY: usize = 1 << 10;
/// Bytes that are read at once.
const EIGHT: usize = 8;
/// How many strings of six bytes they hold.
const STEP: usize = 3;
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
        let mut found = Found { smallest: [u64::MAX; STRINGS], counts: [[0; 256]; STEP] };
        let early = bytes.get(..EARLY + EIGHT - 1).unwrap_or(bytes);
        early.windows(EIGHT).for_each(|eight| found.add_early(eight));
        found.add_late(bytes.get(EARLY..).unwrap_or_default());
        // Being the smallest determines the high bits of a hash; these are still random.
        let name =
            |hash: u64| if hash == u64::MAX { 0 } else { (hash >> 26).to_le_bytes()[0].max(1) };
        Self { classes: frequent(&found.counts()), strings: found.smallest.map(name) }
    }

    /// The buckets that hold a string, and its name.
    pub(crate) fn strings(&self) -> impl Iterator<Item = (usize, u8)> {
        self.strings.into_iter().enumerate().filter(|(_, name)| *name != 0)
    }

    /// How little two pieces have in common; `None` if their strings alone say that it is more than `most`.
    pub(crate) fn distance(&self, other: &Self, most: u32) -> Option<u32> {
        let pairs = self.strings.iter().zip(&other.strings);
        // At most 64; with a check for overflow it would not be vectorized.
        let missing = pairs.fold(0_u8, |missing, (a, b)| {
            missing.wrapping_add(u8::from(a != b) | u8::from(*a == 0))
        });
        let missing = u32::from(missing) * STRING_WEIGHT;
        if missing > most {
            return None;
        }
        let classes = self.classes.iter().zip(&other.classes);
        Some(missing + classes.map(|(a, b)| (a ^ b).count_ones()).sum::<u32>())
    }
}

/// What was found in bytes, each of which begins a string and a triple, except the last seven.
struct Found {
    /// For each bucket the smallest hash of a string. The upper six bits of a hash are the number of its bucket.
    smallest: [u64; STRINGS],
    /// How often each class occurs, in several tables: the same one often comes again, and would have to wait until the one
    /// before it is counted.
    counts: [[u32; 256]; STEP],
}

impl Found {
    /// Where new smallest hashes are frequent.
    #[inline]
    fn add_early(&mut self, eight: &[u8]) {
        let number = eight.try_into().map_or(0, u64::from_le_bytes);
        let hash = hash_of(number);
        if let Some(least) = self.smallest.get_mut((hash >> 58) as usize) {
            *least = hash.min(*least);
        }
        let [counts, ..] = &mut self.counts;
        count(counts, number);
    }

    /// Where new smallest hashes are rare, so that most strings take no more than a comparison.
    fn add_late(&mut self, mut bytes: &[u8]) {
        while let Some(chunk) = bytes.first_chunk::<{ EIGHT + STEP - 1 }>() {
            let number = chunk.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
            for (at, counts) in (0..).zip(&mut self.counts) {
                let number = number >> (8 * at);
                count(counts, number);
                let hash = hash_of(number);
                if self.smallest.get((hash >> 58) as usize).is_some_and(|least| hash < *least) {
                    replace(&mut self.smallest, hash);
                }
            }
            bytes = bytes.get(STEP..).unwrap_or_default();
        }
        bytes.windows(EIGHT).for_each(|eight| self.add_early(eight));
    }

    fn counts(&self) -> [u32; 256] {
        let mut all = [0_u32; 256];
        for counts in &self.counts {
            for (all, count) in all.iter_mut().zip(counts) {
                // At most as many as the sample has bytes.
                *all = all.wrapping_add(*count);
            }
        }
        all
    }
}

/// The hash of the string that a number begins with, its lower 48 bits. That of none is [`u64::MAX`].
#[inline]
const fn hash_of(number: u64) -> u64 {
    (number & 0xffff_ffff_ffff).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Counts the class of the three bytes that a number begins with, its lower 24 bits.
#[inline]
fn count(counts: &mut [u32; 256], number: u64) {
    let [_, _, class, ..] = number.wrapping_mul(0x9e37_79b1).to_le_bytes();
    if let Some(count) = counts.get_mut(usize::from(class)) {
        *count = count.wrapping_add(1);
    }
}

/// A function of its own, which the others take no registers for.
#[cold]
#[inline(never)]
fn replace(smallest: &mut [u64; STRINGS], hash: u64) {
    if let Some(least) = smallest.get_mut((hash >> 58) as usize) {
        *least = hash;
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

    /// The definition, one step after the other.
    fn plainly(bytes: &[u8]) -> Sketch {
        let bytes = bytes.get(..SAMPLE).unwrap_or(bytes);
        let (mut counts, mut smallest) = ([0_u32; 256], [None; STRINGS]);
        for eight in bytes.windows(8) {
            let string =
                eight[..6].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            let hash = string.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let least = &mut smallest[(hash >> 58) as usize];
            *least = Some(least.map_or(hash << 6, |least: u64| least.min(hash << 6)));
            counts[((string & 0xff_ffff).wrapping_mul(0x9e37_79b1) >> 16 & 255) as usize] += 1;
        }
        let strings = smallest.map(|hash| hash.map_or(0, |hash| hash.to_le_bytes()[4].max(1)));
        Sketch { classes: frequent(&counts), strings }
    }

    #[test]
    fn sketches_are_what_they_are_defined_to_be() {
        let noise = |len: u32| {
            (0..len).map(|at| at.wrapping_mul(0x9e37_79b1).to_be_bytes()[0] ^ at.to_le_bytes()[1])
        };
        let text = |len: usize| b"one and two and ten, ".iter().copied().cycle().take(len);
        for len in (0..40).chain([1029, 1030, 1031, 1032, 1033, 5000, 262_144, 300_000]) {
            let noise: Vec<u8> = noise(len).collect();
            let both: Vec<u8> = text(900).chain(noise.iter().copied()).collect();
            for bytes in [noise, both, text(len as usize).collect(), vec![0; len as usize]] {
                assert_eq!(Sketch::of(&bytes), plainly(&bytes), "{len}");
            }
        }
    }

    #[test]
    fn what_is_alike_is_near() {
        let texts: [&[u8]; 3] = [
            b"int main(void) { return 0; }",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0",
            b"int other(void) { return 1; }",
        ];
        let [main, elf, other] = texts.map(Sketch::of);
        let [same, near, far] =
            [main, other, elf].map(|sketch| main.distance(&sketch, 2000).unwrap());
        assert!(same < near && near < far, "{same} {near} {far}");
        assert_eq!((main.distance(&elf, far), main.distance(&elf, 100)), (Some(far), None));
        assert_eq!(Sketch::of(b""), Sketch::default());
    }
}
