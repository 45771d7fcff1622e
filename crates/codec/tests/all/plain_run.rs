//! Does `plain_run` skip nothing that an encoder could have packed?

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{data, random, text};
use lith_codec::{Compressor, Encoder};
use proptest::collection::vec;
use proptest::prelude::*;

const BLOCK: usize = 512;

fn encoders() -> [Encoder; 3] {
    [
        Encoder::of_library(&Compressor::Lz4),
        Encoder::of_library(&Compressor::Lz4Hc { level: 12 }),
        Encoder::new(&Compressor::Lz4Hc { level: 12 }),
    ]
}

fn saves_a_block(encoder: &mut Encoder, input: &[u8], room: usize) -> bool {
    let fit = encoder.fill(input, &mut vec![0; room]).unwrap();
    fit.is_some_and(|fit| fit.written.next_multiple_of(BLOCK) < fit.consumed)
}

/// Random bytes with a few repeats, on the edge of what can be packed.
fn nearly_noise() -> impl Strategy<Value = Vec<u8>> {
    let repeats =
        vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 4..40_usize), 0..60);
    (any::<u64>(), 1..30_000_usize, repeats).prop_map(|(seed, len, repeats)| {
        let mut data: Vec<u8> = random(seed).take(len).collect();
        for (from, to, len) in repeats {
            let (from, to) = (from.index(data.len()), to.index(data.len()));
            let end = data.len().min(from + len);
            let end = end.min(from + data.len() - to);
            data.copy_within(from..end, to);
        }
        data
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn skipped_blocks_could_not_be_packed(
        input in prop_oneof![3 => nearly_noise(), 1 => data(8)],
        blocks in 1..16_usize,
    ) {
        let room = blocks * BLOCK;
        let run = Encoder::new(&Compressor::Lz4Hc { level: 12 }).plain_run(&input, room, BLOCK);
        prop_assert!(run == input.len() || run > 0 && run.is_multiple_of(BLOCK) && run < input.len());
        for start in (BLOCK..run).step_by(BLOCK) {
            for mut encoder in encoders() {
                prop_assert!(!saves_a_block(&mut encoder, &input[start..], room), "at {}", start);
            }
        }
    }
}

#[test]
fn noise_is_skipped_up_to_the_text() {
    let mut input: Vec<u8> = random(3).take(300_000).collect();
    input.extend(text(4).take(100_000));
    let run = Encoder::new(&Compressor::Lz4Hc { level: 12 }).plain_run(&input, 65536, 4096);
    // A pcluster that begins 64 KiB before the text can gain from the text's first bytes.
    assert!((200_000..300_000).contains(&run), "{run}");
    let mut encoder = Encoder::new(&Compressor::Lz4Hc { level: 12 });
    assert_eq!(encoder.plain_run(&input[..300_000], 65536, 4096), 300_000);
    assert_eq!(encoder.plain_run(&[], 4096, 4096), 0);
}

#[test]
fn the_fast_encoder_skips_what_its_failed_fill_took() {
    let input: Vec<u8> = random(3).take(100_000).collect();
    let mut encoder = Encoder::new(&Compressor::Lz4);
    assert_eq!(encoder.fill(&input, &mut vec![0; 65536]), Ok(None));
    let run = encoder.plain_run(&input, 65536, 4096);
    assert!((32_768..=65_536).contains(&run) && run.is_multiple_of(4096), "{run}");
}
