//! Does the LZMA encoder fill a pcluster with what the decoders give back, and do they refuse the rest?

#![expect(clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{data, random, text};
use lith_codec::Fit;
use lith_codec::trial::{Lzma, unlzma, unlzma_partial};
use proptest::prelude::*;
use proptest::sample::Index;

fn encoders() -> impl Strategy<Value = (u8, u32, [u8; 3])> {
    let bits = (0..=4_u8, 0..=4_u8, 0..=4_u8).prop_map(|(lc, lp, pb)| [lc, lp, pb]);
    (0..=9_u8, prop_oneof![Just(4096), Just(262_144), 4096..9_000_000_u32], bits)
}

fn rooms() -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => prop::sample::select(vec![4096, 8192, 65536, 1 << 20]),
        2 => 0..300_usize,
        1 => 300..10_000_usize,
    ]
}

fn fill(encoder: &mut Lzma, input: &[u8], room: usize) -> (Fit, Vec<u8>) {
    let mut output = vec![0xA5; room];
    let fit = encoder.fill(input, &mut output);
    output.truncate(fit.written);
    (fit, output)
}

fn check(fit: &Fit, stream: &[u8], input: &[u8], room: usize) {
    assert!(fit.written <= room && fit.consumed <= input.len());
    if fit.consumed == 0 {
        assert!(input.is_empty() || room < 16, "{fit:?} of {room}");
        return;
    }
    assert_ne!(stream[0], 0, "a stream must not look like padding");
    let mut whole = vec![0; fit.consumed];
    assert_eq!(unlzma(stream, &mut whole), Some(fit.consumed));
    assert!(whole == input[..fit.consumed], "decoded data differs");
    // A finished range coder can still give a few bytes more, but not many.
    assert_eq!(unlzma(stream, &mut vec![0; fit.consumed + 5000]), None);
    assert_eq!(unlzma(&[stream, &[1]].concat(), &mut whole), None);
    if fit.consumed < input.len() {
        assert!(fit.written + 16 >= room, "room left: {} of {room}", fit.written);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_goes_in_comes_out(
        input in data(12), (level, dictionary, bits) in encoders(), room in rooms(),
    ) {
        let mut encoder = Lzma::with(level, dictionary, bits);
        let mut rest = &input[..];
        for _ in 0..4 {
            let (fit, stream) = fill(&mut encoder, rest, room);
            check(&fit, &stream, rest, room);
            rest = &rest[fit.consumed..];
        }
    }

    #[test]
    fn prefixes_decode(input in data(8), room in rooms(), parts in prop::collection::vec(any::<Index>(), 8)) {
        let (fit, stream) = fill(&mut Lzma::new(6, false, room), &input, room);
        for part in parts {
            let mut output = vec![0; part.index(fit.consumed + 1)];
            prop_assert_eq!(unlzma_partial(&stream, &mut output), Some(output.len()));
            prop_assert!(output == input[..output.len()]);
        }
        prop_assert_eq!(unlzma_partial(&stream, &mut vec![0; fit.consumed + 5000]), None);
    }

    #[test]
    fn results_do_not_depend_on_history(
        earlier in data(8), input in data(8), level in 0..=9_u8, rooms in (rooms(), rooms()),
    ) {
        let mut used = Lzma::new(level, false, 65536);
        fill(&mut used, &earlier, rooms.0);
        fill(&mut used, &input, rooms.0);
        let again = fill(&mut used, &input, rooms.1);
        prop_assert_eq!(again, fill(&mut Lzma::new(level, false, 65536), &input, rooms.1));
    }

    #[test]
    fn damage_is_survived(
        input in data(8), damage in prop::collection::vec((any::<Index>(), any::<u8>()), 1..9),
        cut in any::<Index>(), more in 0..100_000_usize,
    ) {
        let input = [vec![7; 100], input].concat();
        let (fit, mut stream) = fill(&mut Lzma::new(1, false, 1 << 20), &input, 1 << 20);
        for (at, byte) in damage {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        let mut output = vec![0; fit.consumed + more];
        let _ = unlzma(&stream, &mut output);
        let _ = unlzma_partial(&stream[..cut.index(stream.len())], &mut output);
    }
}

#[test]
fn every_level_and_the_extreme_ones_fill() {
    let input: Vec<u8> = text(1).take(400_000).collect();
    for level in 0..=9 {
        for extreme in [false, true] {
            let (fit, stream) = fill(&mut Lzma::new(level, extreme, 65536), &input, 16384);
            check(&fit, &stream, &input, 16384);
            assert!(fit.consumed > 3 * fit.written, "{level} {extreme} {fit:?}");
        }
    }
}

#[test]
fn noise_and_nothing_are_no_errors() {
    let noise: Vec<u8> = random(7).take(100_000).collect();
    let mut encoder = Lzma::new(6, false, 65536);
    let (fit, stream) = fill(&mut encoder, &noise, 65536);
    check(&fit, &stream, &noise, 65536);
    assert!(fit.consumed < fit.written);
    assert_eq!(fill(&mut encoder, &[], 4096).0, Fit { consumed: 0, written: 0 });
    for input in [&[][..], &[0], &[0xA2], &[0xA2, 1, 2, 3, 4, 5, 6], &[0xFF; 100], &[0; 100]] {
        assert_eq!(unlzma(input, &mut [0; 90]), None);
    }
    assert_eq!(unlzma_partial(&[], &mut []), Some(0));
}

#[test]
fn no_stream_holds_more_than_a_segment_may() {
    let input = vec![0; 16 << 20];
    let (fit, stream) = fill(&mut Lzma::new(1, false, 1 << 20), &input, 1 << 20);
    assert_eq!(fit.consumed, 12 << 20);
    check(&fit, &stream, &input[..fit.consumed], 1 << 20);
}
