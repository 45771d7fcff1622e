//! Estimates how much of an input will fit.
//!
//! A guess only decides how much is compressed at once; a bad one costs time, not correctness. It is made
//! with whole numbers, so that every machine makes the same.

/// The number of samples of the input, and their length.
const SAMPLES: usize = 4;
const SAMPLE: usize = 512;
/// Content bytes for each byte of output, in 256ths, where a literal takes 0, 1/2, 1, ... 8 bits: measured on
/// programs, libraries and documents.
const YIELDS: [u32; 17] =
    [4096, 4096, 4096, 4096, 2560, 1792, 1280, 1024, 896, 832, 768, 640, 480, 400, 330, 300, 258];

/// About how many bytes of `input` fit `room` bytes.
pub(crate) fn content(input: &[u8], room: usize) -> usize {
    let span = input.get(..room).unwrap_or(input);
    let mut counts = [0_u32; 256];
    let step = span.len().div_ceil(SAMPLES).max(SAMPLE);
    for sample in span.chunks(step) {
        count(sample.get(..SAMPLE).unwrap_or(sample), &mut counts);
    }
    let (place, part) = (entropy(&counts) / 128, entropy(&counts) % 128);
    let at = |place: u32| u64::from(YIELDS.get(place as usize).copied().unwrap_or(258));
    let share = (at(place) * u64::from(128 - part) + at(place + 1) * u64::from(part)) / 128;
    room.saturating_mul(usize::try_from(share).unwrap_or(256)) / 256
}

fn count(sample: &[u8], counts: &mut [u32; 256]) {
    for &byte in sample {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
}

/// Bits of a literal by its frequency alone, in 256ths.
fn entropy(counts: &[u32; 256]) -> u32 {
    let total: u32 = counts.iter().sum();
    let bits: u64 = counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| u64::from(count) * u64::from(log(total).saturating_sub(log(count))))
        .sum();
    u32::try_from(bits / u64::from(total.max(1))).expect("a literal has at most 8 bits")
}

/// The binary logarithm in 256ths, straight between powers of two.
fn log(value: u32) -> u32 {
    let whole = value.checked_ilog2().unwrap_or(0);
    let part = (u64::from(value) << 8 >> whole) & 255;
    whole << 8 | u32::try_from(part).expect("8 bits are left of it")
}
