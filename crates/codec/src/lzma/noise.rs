//! Recognizes stretches that LZMA does not make shorter.
//!
//! Data that is compressed already takes the encoder longest, to no avail. It shows: its bytes are spread evenly
//! whatever precedes them, and hardly four contiguous ones occurred earlier.

/// Bytes whose spread is judged at once.
const WINDOW: usize = 16 << 10;
/// So many classes of preceding bytes are distinguished, as LZMA does for literals.
const CONTEXTS: usize = 8;
/// Byte values.
const VALUES: usize = 256;
/// Fewer bytes saved than the smallest block has are none.
const LEAST_SAVED: u64 = 512;
/// Binary digits of a hash.
const HASH_BITS: u32 = 16;

/// Finds stretches of noise.
#[derive(Debug)]
pub(super) struct Noise {
    /// One more than where the last group of each hash begins; zero for none.
    groups: Vec<u32>,
}

impl Noise {
    pub(super) fn new() -> Self {
        Self { groups: vec![0; 1 << HASH_BITS] }
    }

    /// Whether the first `room` bytes of `input` surely fill `room` bytes, to less than a block?
    pub(super) fn fills(&mut self, input: &[u8], room: usize) -> bool {
        let Some(stretch) = input.get(..room).filter(|stretch| stretch.len() >= WINDOW) else {
            return false;
        };
        let mut saved = 0;
        for window in stretch.chunks_exact(WINDOW) {
            saved += saved_by_literals(window);
            if saved >= LEAST_SAVED {
                return false;
            }
        }
        saved + self.repeats(stretch) < LEAST_SAVED
    }

    /// How often four bytes are the same as those of their hash before: about as many bytes as matches save.
    fn repeats(&mut self, stretch: &[u8]) -> u64 {
        self.groups.fill(0);
        let mut repeats = 0;
        for (at, group) in (0_u32..).zip(stretch.windows(4)) {
            let Some(group) = group.first_chunk() else { continue };
            let hash = u32::from_le_bytes(*group).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS);
            let Some(slot) = self.groups.get_mut(hash as usize) else { continue };
            let before = (*slot as usize).checked_sub(1).and_then(|before| stretch.get(before..));
            repeats += u64::from(before.is_some_and(|before| before.starts_with(group)));
            *slot = at.saturating_add(1);
        }
        repeats
    }
}

/// About how many bytes an uneven spread of `window` saves, at least.
///
/// By the chi-square statistic, of which two for each binary digit of e are a bit saved, less what chance contributes.
fn saved_by_literals(window: &[u8]) -> u64 {
    let mut counts = [[0_u32; VALUES]; CONTEXTS];
    for pair in window.windows(2) {
        let &[before, byte] = pair else { continue };
        let context = counts.get_mut(usize::from(before >> 5));
        if let Some(count) = context.and_then(|counts| counts.get_mut(usize::from(byte))) {
            *count += 1;
        }
    }
    let uneven: u64 = counts.iter().map(chi_square).sum();
    let by_chance = ((VALUES - 1) * CONTEXTS) as u64;
    uneven.saturating_sub(by_chance) * 72 / 100 / 8
}

/// How far `counts` are from even ones, squared.
fn chi_square(counts: &[u32; VALUES]) -> u64 {
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let squares: u64 = counts.iter().map(|&count| u64::from(count).pow(2)).sum();
    (VALUES as u64 * squares).checked_div(total).map_or(0, |mean| mean.saturating_sub(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u64) -> impl Iterator<Item = u8> {
        (1..).map(move |at: u64| {
            let mixed = (at + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            (mixed >> 56) as u8
        })
    }

    fn fills(input: &[u8], room: usize) -> bool {
        Noise::new().fills(input, room)
    }

    #[test]
    fn noise_is_found_in_any_room_of_a_window_or_more() {
        let input: Vec<u8> = noise(1).take(1 << 20).collect();
        for room in [WINDOW, 65536, 100_000, 1 << 20] {
            assert!(fills(&input, room), "{room}");
        }
        assert!(!fills(&input, WINDOW - 1) && !fills(&input, input.len() + 1));
    }

    #[test]
    fn a_little_order_is_seen() {
        let even: Vec<u8> = noise(2).take(65536).collect();
        let repeated = [&even[..30_000], &even[..1000], &even[31_000..]].concat();
        let text =
            [&even[..32_768], &b"as plain as it gets. ".repeat(100), &even[34_868..]].concat();
        let near: Vec<u8> = even
            .iter()
            .scan(0_u8, |sum, step| {
                *sum = sum.wrapping_add(step / 4);
                Some(*sum)
            })
            .collect();
        let seven_bits: Vec<u8> = even.iter().map(|byte| byte & 0x7F).collect();
        for (name, input) in
            [("repeated", repeated), ("text", text), ("near", near), ("seven bits", seven_bits)]
        {
            assert!(!fills(&input, input.len()), "{name}");
        }
        assert!(fills(&even, even.len()));
    }
}
