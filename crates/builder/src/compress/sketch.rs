//! Which stretches of bytes are like each other?
//!
//! What compresses well together should lie together. A sketch tells of a stretch which of 256 classes of three
//! bytes in a row are more frequent in it than others, as nilsimsa digests do; the more of those two sketches have in
//! common, the more likely one stretch helps to compress the other.

/// Bytes of a stretch that are looked at.
const SAMPLE: usize = 256 << 10;
/// How many sketches are compared with each other: the time grows with the square of this.
const GROUP: usize = 8192;

/// 256 bits, each for a class of byte triples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sketch([u64; 4]);

impl Sketch {
    /// The sketch of a stretch; all zeros for one of less than three bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..SAMPLE).unwrap_or(bytes);
        let mut counts = [0_u32; 256];
        for window in bytes.windows(3) {
            if let Some(count) = counts.get_mut(usize::from(class_of(window))) {
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
        Self(words)
    }

    /// How many classes are frequent in one and not in the other.
    pub(crate) fn distance(&self, other: &Self) -> u32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a ^ b).count_ones()).sum()
    }
}

/// One of 256 classes, about equally frequent.
fn class_of(triple: &[u8]) -> u8 {
    let number = triple.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    number.wrapping_mul(0x9e37_79b1).to_be_bytes()[0]
}

/// The numbers of the sketches in an order in which each is followed by the one most like it of those that are left.
/// Of many, only neighbours are compared. Equally like ones keep their order.
pub(crate) fn by_likeness(sketches: &[Sketch]) -> Vec<usize> {
    if std::env::var_os("NOSORT").is_some() { return (0..sketches.len()).collect(); }
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
        assert_eq!(sketches[0].distance(&sketches[0]), 0);
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
