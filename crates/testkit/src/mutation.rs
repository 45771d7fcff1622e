//! Changes bytes of images at random or at chosen places.

use crate::noise::Noise;

/// Numbers that break arithmetic.
const NUMBERS: [u64; 12] = [
    0,
    1,
    7,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    u64::MAX >> 1,
    u64::MAX,
];

/// Changes some bytes, most of them where numbers are, all by `seed`.
///
/// Metadata is small compared with data: half of the changes are made in the ranges `hot`.
pub fn mutate(bytes: &mut Vec<u8>, hot: &[(usize, usize)], seed: u64) {
    let mut noise = Noise::new(seed);
    for _ in 0..=noise.below(4) {
        change(bytes, hot, &mut noise);
    }
}

fn change(bytes: &mut Vec<u8>, hot: &[(usize, usize)], noise: &mut Noise) {
    if bytes.len() < 8 {
        return;
    }
    let at = place(bytes.len() - 8, hot, noise);
    match noise.below(8) {
        0 | 1 => bytes[at] ^= 1 << noise.below(8),
        2 => bytes[at] = noise.next() as u8,
        3 | 4 => {
            let width = 1 << noise.below(4);
            let number = NUMBERS[noise.below(NUMBERS.len())].to_le_bytes();
            bytes[at..at + width].copy_from_slice(&number[..width]);
        }
        5 => {
            let number =
                u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            let number = number.wrapping_add(noise.below(33) as u32).wrapping_sub(16);
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        6 => {
            let length = 1 + noise.below(64);
            let from = noise.below(bytes.len().saturating_sub(length).max(1));
            let length = length.min(bytes.len() - at.max(from));
            bytes.copy_within(from..from + length, at);
        }
        _ if noise.below(8) == 0 => bytes.truncate(at),
        _ => bytes[at..at + 8].fill(noise.below(2) as u8 * 0xff),
    }
}

fn place(limit: usize, hot: &[(usize, usize)], noise: &mut Noise) -> usize {
    match hot.get(noise.below(2 * hot.len().max(1))) {
        Some((start, end)) if end > start => (start + noise.below(end - start)).min(limit),
        _ => noise.below(limit + 1),
    }
}

/// The ranges of metadata in an image, estimated: the superblock, and what is not data.
#[must_use]
pub fn hot_ranges(image: &[u8]) -> Vec<(usize, usize)> {
    let number = |at: usize| {
        image.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    };
    let bits = image.get(1024 + 12).copied().unwrap_or(12).min(16);
    let metadata = (number(1024 + 40) << bits).min(image.len());
    let rest = image.len().min(metadata + (64 << 10));
    vec![(1024, 1024 + 144), (metadata, rest), (metadata, rest)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_breaks_the_same_bytes() {
        for seed in 0..500 {
            let mut one = vec![0; 5000];
            let mut two = one.clone();
            mutate(&mut one, &[(100, 200)], seed);
            mutate(&mut two, &[(100, 200)], seed);
            assert_eq!(one, two);
        }
        mutate(&mut vec![], &[], 1);
    }
}
