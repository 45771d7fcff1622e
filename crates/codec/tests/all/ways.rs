//! Tests that every way to decode a stream returns the same bytes, and refuses the same streams without harm.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use crate::common::{data, random, text};
use lith_codec::{
    Algorithm, Compressor, DecodeError, Encoder, Window, decode, decode_in_place, decode_partial,
    decode_rolling, in_place_margin,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Bytes on each side of a buffer that must not change.
const GUARD: usize = 64;

/// A stream and what it holds.
#[derive(Clone, Debug)]
struct Packed {
    algorithm: Algorithm,
    stream: Vec<u8>,
    content: Vec<u8>,
}

fn compressors() -> impl Strategy<Value = Compressor> {
    let named = |name: String| name.parse().unwrap();
    prop_oneof![
        2 => Just(Compressor::Lz4),
        2 => (1..=12_u8).prop_map(move |level| named(format!("lz4hc,{level}"))),
        2 => (-7..=22_i8).prop_map(move |level| named(format!("zstd,{level}"))),
        1 => (1..=12_u8).prop_map(move |level| named(format!("deflate,{level}"))),
        1 => (0..=9_u8).prop_map(move |level| named(format!("lzma,{level}"))),
    ]
}

fn rooms() -> impl Strategy<Value = usize> {
    prop_oneof![prop::sample::select(vec![4096, 65536, 1 << 20]), 64..10_000_usize]
}

/// The longest beginning of `content` that fits; `None` if nothing is gained.
fn pack(compressor: &Compressor, content: &[u8], room: usize) -> Option<Packed> {
    let mut stream = vec![0; room];
    let fit = Encoder::new(compressor).fill(content, &mut stream).unwrap()?;
    stream.truncate(fit.written);
    let content = content[..fit.consumed].to_vec();
    Some(Packed { algorithm: compressor.algorithm(), stream, content })
}

fn packed(pieces: usize) -> impl Strategy<Value = Packed> {
    (compressors(), data(pieces), rooms()).prop_filter_map(
        "nothing gained",
        |(c, content, room)| {
            let content = [vec![7; 100], content].concat();
            pack(&c, &content, room)
        },
    )
}

/// Decodes in place in a buffer of `length` bytes between guards; returns the buffer.
fn in_place(packed: &Packed, length: usize) -> (Result<(), DecodeError>, Vec<u8>) {
    let Packed { algorithm, stream, content } = packed;
    let mut guarded = vec![0x5A; GUARD + length + GUARD];
    let start = length - stream.len();
    let buffer = &mut guarded[GUARD..GUARD + length];
    buffer[start..].copy_from_slice(stream);
    let before = buffer.to_vec();
    let done = decode_in_place(*algorithm, buffer, start..length, content.len());
    let after = buffer.to_vec();
    if matches!(done, Err(DecodeError::NotInPlace { .. })) {
        assert!(before == after, "a refused buffer changed");
    }
    assert!(guarded[..GUARD] == [0x5A; GUARD] && guarded[GUARD + length..] == [0x5A; GUARD]);
    (done, after)
}

/// The shortest buffer that has the margin.
fn least(packed: &Packed) -> Option<usize> {
    let Packed { algorithm, stream, content } = packed;
    let margin = in_place_margin(*algorithm, stream.len(), content.len())?;
    Some((content.len() + margin).max(stream.len()))
}

fn rolling(packed: &Packed, skip: usize, length: usize, window: &mut Window) -> Vec<u8> {
    let mut output = vec![0xA5; length];
    decode_rolling(packed.algorithm, &packed.stream, skip, &mut output, window).unwrap();
    output
}

/// A match whose copy goes 31 bytes too far, and after it so many literals that their number takes six bytes.
#[test]
fn what_is_copied_beyond_a_match_spares_the_literals_after_it() {
    let start: Vec<u8> = (0..20).collect();
    let last: Vec<u8> =
        (0..1290_u32).map(|n| n.wrapping_mul(0x9e37_79b1).to_be_bytes()[0]).collect();
    let long = [255; 5];
    let stream =
        [&[0xff, 5][..], &start, &[20, 0], &long, &[147], &[0xf0], &long, &[0], &last].concat();
    let content = [start.repeat(74)[..20 + 1441].to_vec(), last].concat();
    let packed = Packed { algorithm: Algorithm::Lz4, stream, content };
    let (done, buffer) = in_place(&packed, least(&packed).unwrap());
    assert_eq!(done, Ok(()));
    assert!(buffer[..packed.content.len()] == packed.content);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn in_place_gives_the_same(packed in packed(12), more in 0..300_usize) {
        let Some(length) = least(&packed) else {
            let (done, _) = in_place(&packed, packed.content.len() + packed.stream.len());
            prop_assert!(matches!(done, Err(DecodeError::NotInPlace { .. })), "{:?}", done);
            return Ok(());
        };
        for length in [length, length + more] {
            let (done, buffer) = in_place(&packed, length);
            prop_assert_eq!(done, Ok(()));
            prop_assert!(buffer[..packed.content.len()] == packed.content);
        }
    }

    #[test]
    fn no_margin_is_refused_at_once(packed in packed(6), less in 1..40_usize) {
        let short = least(&packed).unwrap_or(0).saturating_sub(less);
        if packed.algorithm == Algorithm::Lz4 && short >= packed.stream.len() {
            let (done, _) = in_place(&packed, short);
            prop_assert!(matches!(done, Err(DecodeError::NotInPlace { .. })), "{done:?}");
        }
        let length = packed.content.len().max(packed.stream.len());
        let (done, _) = in_place(&packed, length);
        prop_assert!(matches!(done, Err(DecodeError::NotInPlace { .. })), "{done:?}");
    }

    #[test]
    fn rolling_gives_the_same(
        streams in vec((packed(12), any::<Index>(), any::<Index>()), 1..4),
    ) {
        let mut window = Window::new();
        for (packed, skip, length) in streams {
            let skip = skip.index(packed.content.len() + 1);
            let length = length.index(packed.content.len() - skip + 1);
            let output = rolling(&packed, skip, length, &mut window);
            prop_assert!(output == packed.content[skip..skip + length]);
        }
    }

    #[test]
    fn damage_is_survived_and_forgotten(
        packed in packed(6), other in packed(3), skip in any::<Index>(),
        damage in vec((any::<Index>(), any::<u8>()), 1..8), cut in any::<Index>(),
    ) {
        let mut bad = packed.clone();
        for (at, byte) in damage {
            let at = at.index(bad.stream.len());
            bad.stream[at] = byte;
        }
        bad.stream.truncate(cut.index(2 * bad.stream.len()).max(1));
        let mut window = Window::new();
        let mut output = vec![0; bad.content.len()];
        let skip = skip.index(output.len());
        let _ = decode(bad.algorithm, &bad.stream, &mut output);
        let _ = decode_partial(bad.algorithm, &bad.stream, &mut output[skip..]);
        let _ = decode_rolling(bad.algorithm, &bad.stream, skip, &mut output[skip..], &mut window);
        if let Some(length) = least(&bad) {
            let _ = in_place(&bad, length);
            let _ = in_place(&bad, length + 1000);
        }
        for packed in [packed, other] {
            let mut output = vec![0; packed.content.len()];
            prop_assert_eq!(decode(packed.algorithm, &packed.stream, &mut output), Ok(()));
            prop_assert!(output == packed.content);
            output.fill(0);
            prop_assert_eq!(decode_partial(packed.algorithm, &packed.stream, &mut output), Ok(()));
            prop_assert!(output == packed.content);
            prop_assert!(rolling(&packed, 1, output.len() - 1, &mut window) == output[1..]);
        }
    }

    #[test]
    fn noise_as_stream_is_survived(
        noise in vec(any::<u8>(), 0..300), skip in 0..3000_usize, length in 0..3000_usize,
    ) {
        for algorithm in [Algorithm::Lz4, Algorithm::Lzma, Algorithm::Deflate, Algorithm::Zstd] {
            let mut output = vec![0; length];
            let _ = decode_rolling(algorithm, &noise, skip, &mut output, &mut Window::new());
            let bad = Packed { algorithm, stream: noise.clone(), content: output };
            let _ = in_place(&bad, least(&bad).unwrap_or(noise.len() + length));
        }
    }
}

#[test]
fn long_streams_roll_through_the_window() {
    let zeros = vec![0; 3 << 20];
    let mixed: Vec<u8> = text(3).take(400_000).chain(random(5).take(300_000)).collect();
    let far = [&mixed[..], &mixed[400_000..], &mixed[335_000..]].concat();
    for name in ["lz4", "lz4hc,12", "deflate,6", "zstd,3", "lzma,1"] {
        let mut window = Window::new();
        for content in [&zeros, &mixed, &far] {
            let packed = pack(&name.parse().unwrap(), content, 1 << 20).unwrap();
            let end = packed.content.len();
            for (skip, length) in
                [(0, end), (end - 1, 1), (end / 2, 70_000), (65_535, 65_537), (131_072, 1)]
            {
                let output = rolling(&packed, skip, length, &mut window);
                assert!(output == content[skip..skip + length], "{name} {skip} {length}");
            }
            if let Some(length) = least(&packed) {
                let (done, buffer) = in_place(&packed, length);
                assert_eq!(done, Ok(()), "{name}");
                assert!(buffer[..end] == content[..end], "{name}");
            }
        }
    }
}

#[test]
fn what_is_beyond_the_end_is_told() {
    let content: Vec<u8> = text(9).take(10_000).collect();
    for name in ["lz4hc,9", "deflate,6", "zstd,3"] {
        let packed = pack(&name.parse().unwrap(), &content, 1 << 16).unwrap();
        let algorithm = packed.algorithm;
        for skip in [9_000, 10_000, 70_000, 500_000] {
            let (window, output) = (&mut Window::new(), &mut [0; 2000]);
            let done = decode_rolling(algorithm, &packed.stream, skip, output, window);
            let expected = skip + 2000;
            assert_eq!(done, Err(DecodeError::TooShort { algorithm, expected, found: 10_000 }));
        }
    }
    let packed = pack(&Compressor::Lz4, &content, 1 << 16).unwrap();
    let huge =
        decode_rolling(Algorithm::Lz4, &packed.stream, usize::MAX, &mut [0; 9], &mut Window::new());
    assert!(matches!(huge, Err(DecodeError::Corrupt { .. })));
}

#[test]
fn in_place_wants_the_stream_at_the_end() {
    let packed = pack(&Compressor::Lz4, &[7; 5000], 4096).unwrap();
    let mut buffer = vec![0; 6000];
    let length = packed.stream.len();
    buffer[5000..5000 + length].copy_from_slice(&packed.stream);
    for input in [5000..5000 + length, 5990..6001] {
        let done = decode_in_place(Algorithm::Lz4, &mut buffer, input, 5000);
        assert!(matches!(done, Err(DecodeError::NotInPlace { .. })), "{done:?}");
    }
    let done = decode_in_place(Algorithm::Lz4, &mut buffer, 6000..6000, 5000);
    assert!(matches!(done, Err(DecodeError::Corrupt { .. })), "{done:?}");
}
