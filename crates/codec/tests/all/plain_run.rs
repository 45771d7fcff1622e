//! Tests that `plain_run` skips nothing that an encoder could have packed.

use crate::common::{random, text};
use lith_codec::{Compressor, Encoder};

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
