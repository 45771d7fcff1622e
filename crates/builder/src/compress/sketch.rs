//! Which stretches of bytes are like each other?
//!
//! What compresses well together should lie together. A sketch tells two things of a stretch: which of 256 classes of
//! three bytes in a row are more frequent in it than others, as nilsimsa digests do, and the smallest hashes of six
//! bytes in a row, of which two stretches share about as many as they share strings (min-wise hashing with one permutation).

/// Bytes of a stretch that are looked at.
const SAMPLE: usize = 256 << 10;
/// How many sketches are compared with each other: the time grows with the square of this.
const GROUP: usize = 8192;
/// How many frequent classes in common are worth as much as one common smallest hash.
const HASH_WEIGHT: u32 = 16;

/// What is characteristic of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// 256 bits, each for a class of byte triples.
    classes: [u64; 4],
    /// The smallest hash of those that fall into each of 64 buckets.
    smallest: [u16; 64],
}

impl Default for Sketch {
    /// The sketch of nothing.
    fn default() -> Self {
        Self { classes: [0; 4], smallest: [u16::MAX; 64] }
    }
}

impl Sketch {
    /// The sketch of a stretch.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..SAMPLE).unwrap_or(bytes);
        Self { classes: frequent_classes(bytes), smallest: smallest_hashes(bytes) }
    }

    /// How little two stretches have in common.
    fn distance(&self, other: &Self) -> u32 {
        let differing: u32 =
            self.classes.iter().zip(&other.classes).map(|(a, b)| (a ^ b).count_ones()).sum();
        let pairs = self.smallest.iter().zip(&other.smallest);
        let unequal: u32 = pairs.map(|(a, b)| u32::from(a != b || *a == u16::MAX)).sum();
        differing + unequal * HASH_WEIGHT
    }
}

fn frequent_classes(bytes: &[u8]) -> [u64; 4] {
    let mut counts = [0_u32; 256];
    for triple in bytes.windows(3) {
        let number = triple.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let class = number.wrapping_mul(0x9e37_79b1).to_be_bytes()[0];
        if let Some(count) = counts.get_mut(usize::from(class)) {
            *count += 1;
        }
    }
    let triples: u32 = counts.iter().sum();
    let mut words = [0; 4];
    for (word, counts) in words.iter_mut().zip(counts.as_chunks::<64>().0) {
        for (bit, count) in counts.iter().enumerate() {
            // More than the mean, in whole numbers.
            *word |= u64::from(u64::from(*count) * 256 > u64::from(triples)) << bit;
        }
    }
    words
}

fn smallest_hashes(bytes: &[u8]) -> [u16; 64] {
    let mut smallest = [u16::MAX; 64];
    for six in bytes.windows(6) {
        let number = six.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let [bucket, high, low, ..] = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        if let Some(least) = smallest.get_mut(usize::from(bucket >> 2)) {
            *least = u16::from_be_bytes([high, low]).min(*least);
        }
    }
    smallest
}

/// The numbers of the sketches in an order in which each is followed by the one most like it of those that are left.
/// Of many, only neighbours are compared. Equally like ones keep their order.
pub(crate) fn by_likeness(sketches: &[Sketch]) -> Vec<usize> {
    let mut order = Vec::with_capacity(sketches.len());
    for (group, sketches) in sketches.chunks(GROUP).enumerate() {
        let mut left: Vec<(usize, Sketch)> = sketches.iter().copied().enumerate().collect();
        let mut last = sketches.first().copied().unwrap_or_default();
        while let Some(at) = most_like(&last, &left) {
            let (number, sketch) = left.swap_remove(at);
            order.push(group * GROUP + number);
            last = sketch;
        }
    }
    order
}

fn most_like(sketch: &Sketch, others: &[(usize, Sketch)]) -> Option<usize> {
    let ranks = others.iter().map(|(number, other)| (sketch.distance(other), *number)).enumerate();
    ranks.min_by_key(|(_, rank)| *rank).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likes_follow_each_other() {
        let texts: [&[u8]; 4] = [
            b"int main(void) { return 0; }",
            b"\x7fELF\x02\x01\x01",
            b"int other(void) { return 1; }",
            b"",
        ];
        let sketches = texts.map(Sketch::of);
        assert_eq!(by_likeness(&sketches)[..2], [0, 2]);
        assert_eq!(sketches[3], Sketch::default());
        assert!(sketches[0].distance(&sketches[0]) < sketches[0].distance(&sketches[2]));
        assert!(sketches[0].distance(&sketches[1]) > sketches[0].distance(&sketches[2]));
    }

    #[test]
    fn every_sketch_comes_once() {
        let sketches: Vec<_> = (0..300_u32).map(|i| Sketch::of(&(i * i).to_le_bytes())).collect();
        let mut order = by_likeness(&sketches);
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..300));
    }
}
