//! Tests that the LZMA encoder fills pclusters that decode to what it took, and that corrupt ones are refused.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{data, random, text};
use lith_codec::Algorithm::Lzma;
use lith_codec::{Compressor, Encoder, Fit, LzmaBits, LzmaEffort, decode, decode_partial};
use proptest::prelude::*;
use proptest::sample::Index;

fn efforts() -> impl Strategy<Value = LzmaEffort> {
    let bits = (0..=4_u8, 0..=4_u8, 0..=4_u8).prop_map(|(lc, lp, pb)| LzmaBits { lc, lp, pb });
    let dictionary = prop_oneof![Just(4096), Just(262_144), 4096..9_000_000_u32];
    (0..=9_u8, any::<bool>(), prop::option::of(dictionary), prop::option::of(bits)).prop_map(
        |(level, extreme, dictionary, bits)| {
            let mut effort = LzmaEffort::new(level);
            (effort.extreme, effort.dictionary, effort.bits) = (extreme, dictionary, bits);
            effort
        },
    )
}

/// An encoder for pclusters of 64 KiB.
fn encoder(effort: LzmaEffort) -> Encoder {
    Encoder::for_pclusters(&Compressor::Lzma(effort), 65536)
}

fn rooms() -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => prop::sample::select(vec![4096, 8192, 65536, 1 << 20]),
        2 => 0..300_usize,
        1 => 300..10_000_usize,
    ]
}

/// What was gained, and the stream.
fn fill(encoder: &mut Encoder, input: &[u8], room: usize) -> Option<(Fit, Vec<u8>)> {
    let mut output = vec![0xA5; room];
    let fit = encoder.fill(input, &mut output).unwrap()?;
    output.truncate(fit.written);
    Some((fit, output))
}

fn check(fit: &Fit, stream: &[u8], input: &[u8], room: usize) {
    assert!(fit.written <= room && fit.consumed <= input.len() && fit.written < fit.consumed);
    assert_ne!(stream[0], 0, "a stream must not look like padding");
    let mut whole = vec![0; fit.consumed];
    decode(Lzma, stream, &mut whole).unwrap();
    assert!(whole == input[..fit.consumed], "decoded data differs");
    // A finished range coder can still return a few more bytes, but not many.
    decode(Lzma, stream, &mut vec![0; fit.consumed + 5000]).unwrap_err();
    decode(Lzma, &[stream, &[1]].concat(), &mut whole).unwrap_err();
    if fit.consumed < input.len() {
        assert!(fit.written + 16 >= room, "room left: {} of {room}", fit.written);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_goes_in_comes_out(input in data(12), effort in efforts(), room in rooms()) {
        let mut encoder = encoder(effort);
        let mut rest = &input[..];
        for _ in 0..4 {
            let Some((fit, stream)) = fill(&mut encoder, rest, room) else { break };
            check(&fit, &stream, rest, room);
            rest = &rest[fit.consumed..];
        }
    }

    #[test]
    fn prefixes_decode(input in data(8), room in rooms(), parts in prop::collection::vec(any::<Index>(), 8)) {
        let filled = fill(&mut encoder(LzmaEffort::new(6)), &input, room);
        for (part, (fit, stream)) in parts.iter().zip(filled.iter().cycle()) {
            let mut output = vec![0; part.index(fit.consumed + 1)];
            decode_partial(Lzma, stream, &mut output).unwrap();
            prop_assert!(output == input[..output.len()]);
            decode_partial(Lzma, stream, &mut vec![0; fit.consumed + 5000]).unwrap_err();
        }
    }

    #[test]
    fn results_do_not_depend_on_history(
        earlier in data(8), input in data(8), effort in efforts(), rooms in (rooms(), rooms()),
    ) {
        let mut used = encoder(effort);
        fill(&mut used, &earlier, rooms.0);
        fill(&mut used, &input, rooms.0);
        let again = fill(&mut used, &input, rooms.1);
        prop_assert_eq!(again, fill(&mut encoder(effort), &input, rooms.1));
    }

    #[test]
    fn damage_is_survived(
        input in data(8), damage in prop::collection::vec((any::<Index>(), any::<u8>()), 1..9),
        cut in any::<Index>(), more in 0..100_000_usize,
    ) {
        let input = [vec![7; 100], input].concat();
        // Noise has no stream.
        let Some((fit, mut stream)) = fill(&mut encoder(LzmaEffort::new(1)), &input, 1 << 20) else {
            return Ok(());
        };
        for (at, byte) in damage {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        let mut output = vec![0; fit.consumed + more];
        let _ = decode(Lzma, &stream, &mut output);
        let _ = decode_partial(Lzma, &stream[..cut.index(stream.len())], &mut output);
    }
}

#[test]
fn every_level_and_the_extreme_ones_fill() {
    let input: Vec<u8> = text(1).take(400_000).collect();
    for level in 0..=9 {
        for extreme in [false, true] {
            let mut effort = LzmaEffort::new(level);
            effort.extreme = extreme;
            let (fit, stream) = fill(&mut encoder(effort), &input, 16384).unwrap();
            check(&fit, &stream, &input, 16384);
            assert!(fit.consumed > 3 * fit.written, "{level} {extreme} {fit:?}");
        }
    }
}

#[test]
fn extreme_effort_finds_the_statistics_that_suit() {
    let numbers: Vec<u8> = random(3).take(600_000).zip((0_u32..).step_by(977)).fold(
        Vec::new(),
        |mut all, (low, number)| {
            all.extend((number + u32::from(low)).to_le_bytes());
            all
        },
    );
    let words: Vec<u8> = text(2).take(2_000_000).collect();
    let free = LzmaEffort::new(6).extreme();
    let mut usual = free;
    usual.bits = Some(LzmaBits::default());
    for (input, is_usual) in [(numbers, false), (words, true)] {
        let (least, stream) = fill(&mut encoder(usual), &input, 65536).unwrap();
        assert_eq!(stream[0], !0x5D);
        let (fit, stream) = fill(&mut encoder(free), &input, 65536).unwrap();
        check(&fit, &stream, &input, 65536);
        assert_eq!(stream[0] == !0x5D, is_usual);
        assert!(if is_usual { fit == least } else { fit.consumed > least.consumed });
    }
}

#[test]
fn noise_and_nothing_are_no_errors() {
    let noise: Vec<u8> = random(7).take(200_000).collect();
    let mut encoder = encoder(LzmaEffort::new(6));
    assert_eq!(fill(&mut encoder, &noise, 65536), None);
    assert_eq!(encoder.plain_run(&noise, 65536, 4096), 65536);
    assert_eq!(fill(&mut encoder, &noise[..65536], 65536), None);
    assert_eq!(encoder.plain_run(&noise[..65536], 65536, 4096), 65536);
    assert_eq!(fill(&mut encoder, &[], 4096), None);
    for input in [&[][..], &[0], &[0xA2], &[0xA2, 1, 2, 3, 4, 5, 6], &[0xFF; 100], &[0; 100]] {
        decode(Lzma, input, &mut [0; 90]).unwrap_err();
    }
    decode_partial(Lzma, &[], &mut []).unwrap();
}

#[test]
fn what_follows_noise_is_compressed() {
    let noise: Vec<u8> = random(9).take(65536).collect();
    let twice = [&noise[..], &noise[..]].concat();
    let mut encoder = encoder(LzmaEffort::new(6));
    // The first copy fills the output alone, so nothing is lost by storing it plain.
    assert_eq!(fill(&mut encoder, &twice, 65536), None);
    let (fit, stream) = fill(&mut encoder, &twice, 131_072).unwrap();
    assert_eq!(fit.consumed, twice.len());
    check(&fit, &stream, &twice, 131_072);
}

#[test]
fn no_stream_holds_more_than_a_segment_may() {
    let input = vec![0; 16 << 20];
    let (fit, stream) = fill(&mut encoder(LzmaEffort::new(1)), &input, 1 << 20).unwrap();
    assert_eq!(fit.consumed, 12 << 20);
    check(&fit, &stream, &input[..fit.consumed], 1 << 20);
}
