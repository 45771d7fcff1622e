//! Tests that every encoder fills a pcluster that decodes to what it took, whatever the data.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use crate::common::{data, random, text};
use lith_codec::{Algorithm, Compressor, Encoder, Fit, decode, decode_partial};
use proptest::prelude::*;

fn compressors() -> impl Strategy<Value = Compressor> {
    prop_oneof![
        Just(Compressor::Lz4),
        (1..=12_u8).prop_map(|level| Compressor::Lz4Hc { level }),
        (10..=12_u8).prop_map(|level| Compressor::Lz4Hc { level }),
    ]
}

fn rooms() -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => prop::sample::select(vec![4096, 8192, 16384, 65536, 131_072, 1 << 20]),
        2 => 0..300_usize,
        1 => 300..10_000_usize,
    ]
}

fn fill(encoder: &mut Encoder, input: &[u8], room: usize) -> Option<(Fit, Vec<u8>)> {
    let mut output = vec![0xA5; room];
    let fit = encoder.fill(input, &mut output).unwrap()?;
    output.truncate(fit.written);
    Some((fit, output))
}

/// Packs all of `input`, checking each pcluster; the bytes it takes.
fn pack(encoder: &mut Encoder, input: &[u8], room: usize) -> usize {
    let (mut rest, mut size) = (input, 0);
    while !rest.is_empty() {
        let Some((fit, stream)) = fill(encoder, rest, room) else {
            let plain = rest.len().min(4096);
            size += plain;
            rest = &rest[plain..];
            continue;
        };
        check(&fit, &stream, rest, room);
        size += fit.written;
        rest = &rest[fit.consumed..];
    }
    size
}

fn check(fit: &Fit, stream: &[u8], input: &[u8], room: usize) {
    assert!(fit.written <= room && fit.written < fit.consumed && fit.consumed <= input.len());
    assert_ne!(stream[0], 0, "a stream must not look like padding");
    let mut whole = vec![0; fit.consumed];
    decode(Algorithm::Lz4, stream, &mut whole).unwrap();
    assert!(whole == input[..fit.consumed], "decoded data differs");
    let mut part = vec![0; fit.consumed / 2];
    decode_partial(Algorithm::Lz4, stream, &mut part).unwrap();
    assert!(part == input[..part.len()], "partly decoded data differs");
    if fit.consumed < input.len() {
        assert!(fit.written + 16 >= room, "room left: {} of {room}", fit.written);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_goes_in_comes_out(input in data(12), compressor in compressors(), room in rooms()) {
        pack(&mut Encoder::new(&compressor), &input, room);
    }

    #[test]
    fn results_do_not_depend_on_history(
        earlier in data(8),
        input in data(8),
        compressor in compressors(),
        rooms in (rooms(), rooms()),
    ) {
        let mut used = Encoder::new(&compressor);
        fill(&mut used, &earlier, rooms.0);
        fill(&mut used, &input, rooms.0);
        used.plain_run(&earlier, rooms.0, 512);
        let again = fill(&mut used, &input, rooms.1);
        let fresh = fill(&mut Encoder::new(&compressor), &input, rooms.1);
        prop_assert_eq!(again, fresh);
    }

    #[test]
    fn results_do_not_depend_on_bytes_far_ahead(
        input in data(8), tail in data(4), room in 64..600_usize,
    ) {
        // A pcluster of `room` bytes holds less than `255 * room`, so more cannot matter.
        let mut near = input;
        near.resize(300 * room, 0);
        let mut far = near.clone();
        far.extend(tail);
        let mut encoder = Encoder::new(&Compressor::Lz4Hc { level: 12 });
        prop_assert_eq!(fill(&mut encoder, &near, room), fill(&mut encoder, &far, room));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn big_data_comes_out(input in data(400), compressor in compressors(), room in rooms()) {
        pack(&mut Encoder::new(&compressor), &input, room.max(4096));
    }
}

#[test]
fn higher_levels_pack_tighter() {
    let input: Vec<u8> = text(1).take(600_000).collect();
    let mut sizes = [3, 9, 10, 11, 12]
        .map(|level| pack(&mut Encoder::new(&Compressor::Lz4Hc { level }), &input, 65536));
    assert!(sizes.is_sorted_by(|low, high| low >= high), "{sizes:?}");
    sizes.reverse();
    assert!(sizes[0] < input.len() / 2);
}

#[test]
fn nothing_is_gained_from_noise_or_too_little() {
    let noise: Vec<u8> = random(7).take(200_000).collect();
    for compressor in
        [Compressor::Lz4, Compressor::Lz4Hc { level: 9 }, Compressor::Lz4Hc { level: 12 }]
    {
        let mut encoder = Encoder::new(&compressor);
        assert_eq!(fill(&mut encoder, &noise, 65536), None);
        assert_eq!(fill(&mut encoder, &[], 4096), None);
        assert_eq!(fill(&mut encoder, b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 15), None);
        assert_eq!(fill(&mut encoder, b"abcde", 4096), None);
    }
}

#[test]
fn a_megabyte_of_output_holds_a_giant_run() {
    let input = vec![0; 200 << 20];
    for level in [9, 12] {
        let mut encoder = Encoder::new(&Compressor::Lz4Hc { level });
        let (fit, stream) = fill(&mut encoder, &input, 1 << 20).unwrap();
        assert_eq!(fit.consumed, input.len());
        check(&fit, &stream, &input, 1 << 20);
        let (fit, _) = fill(&mut encoder, &input, 4096).unwrap();
        assert!(fit.consumed > 4080 * 255 && fit.written == 4096, "{fit:?}");
    }
}
