//! Tests that DEFLATE streams fill a pcluster and decode to what they hold, and that corrupt ones are refused.

use proptest::prelude::*;
use proptest::sample::Index;

use super::common::{data, random, text};
use crate::Fit;
use crate::deflate::{Deflate, decompress as inflate, decompress_rolling};
use crate::ffi::deflate::Compressor as Libdeflate;

fn inflate_partial(input: &[u8], output: &mut [u8]) -> Option<usize> {
    decompress_rolling(input, 0, output, &mut [])
}

fn rooms() -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => prop::sample::select(vec![4096, 8192, 65536, 1 << 20]),
        2 => 0..300_usize,
        1 => 300..10_000_usize,
    ]
}

fn fill(encoder: &mut Deflate, input: &[u8], room: usize) -> (Fit, Vec<u8>) {
    let mut output = vec![0xA5; room];
    let fit = encoder.fill(input, &mut output);
    output.truncate(fit.written);
    (fit, output)
}

fn check(fit: &Fit, stream: &[u8], input: &[u8], room: usize) {
    assert!(fit.written <= room && fit.consumed <= input.len());
    if fit.consumed == 0 {
        assert!(input.is_empty() || room < 8, "{fit:?} of {room}");
        return;
    }
    assert_ne!(stream[0], 0, "a stream must not look like padding");
    let mut whole = vec![0; fit.consumed];
    assert_eq!(inflate(stream, &mut whole), Some(fit.consumed));
    assert!(whole == input[..fit.consumed], "decoded data differs");
    let mut other = vec![0; fit.consumed];
    assert_eq!(inflate_partial(stream, &mut other), Some(fit.consumed));
    assert!(other == whole, "the other decoder's data differs");
    assert_eq!(inflate(&[stream, &[1]].concat(), &mut whole), None);
    assert_eq!(inflate(stream, &mut whole[1..]), None);
    if fit.consumed < input.len() {
        // Where the next bytes would be stored, a match of theirs is the smallest step.
        assert!(fit.written + 264 >= room, "only {} of {room} written", fit.written);
    }
}

/// Packs all of `input`, checking each pcluster; the bytes it takes.
fn pack(encoder: &mut Deflate, input: &[u8], room: usize) -> usize {
    let (mut rest, mut size) = (input, 0);
    while !rest.is_empty() {
        let (fit, stream) = fill(encoder, rest, room);
        check(&fit, &stream, rest, room);
        let taken = if fit.consumed == 0 { rest.len().min(4096) } else { fit.consumed };
        size += fit.written.max(taken.min(1));
        rest = &rest[taken..];
    }
    size
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_goes_in_comes_out(input in data(12), level in 1..=12_u8, room in rooms()) {
        pack(&mut Deflate::new(level), &input, room);
    }

    #[test]
    fn prefixes_decode(
        input in data(8), level in 1..=12_u8, room in rooms(),
        parts in prop::collection::vec(any::<Index>(), 8),
    ) {
        let (fit, stream) = fill(&mut Deflate::new(level), &input, room);
        for part in parts {
            let mut output = vec![0; part.index(fit.consumed + 1)];
            prop_assert_eq!(inflate_partial(&stream, &mut output), Some(output.len()));
            prop_assert!(output == input[..output.len()]);
        }
        if fit.consumed > 0 {
            let mut output = vec![0; fit.consumed + 100];
            prop_assert_eq!(inflate_partial(&stream, &mut output), Some(fit.consumed));
            prop_assert_eq!(inflate_partial(&stream[..stream.len() - 1], &mut output), None);
        }
    }

    #[test]
    fn results_do_not_depend_on_history(
        earlier in data(8), input in data(8), level in 1..=12_u8, rooms in (rooms(), rooms()),
    ) {
        let mut used = Deflate::new(level);
        fill(&mut used, &earlier, rooms.0);
        fill(&mut used, &input, rooms.0);
        let again = fill(&mut used, &input, rooms.1);
        prop_assert_eq!(again, fill(&mut Deflate::new(level), &input, rooms.1));
    }

    #[test]
    fn damage_is_survived(
        input in data(8), damage in prop::collection::vec((any::<Index>(), any::<u8>()), 1..9),
        cut in any::<Index>(),
    ) {
        let input = [vec![7; 100], input].concat();
        let (fit, mut stream) = fill(&mut Deflate::new(6), &input, 1 << 20);
        for (at, byte) in damage {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        let mut output = vec![0; fit.consumed];
        let _ = inflate(&stream, &mut output);
        let _ = inflate_partial(&stream, &mut output);
        let _ = inflate_partial(&stream[..cut.index(stream.len())], &mut output);
    }

    #[test]
    fn noise_as_stream_is_survived(seed in any::<u64>(), len in 0..400_usize) {
        let noise: Vec<u8> = random(seed).take(len).collect();
        let _ = inflate(&noise, &mut [0; 5000]);
        let _ = inflate_partial(&noise, &mut [0; 5000]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn big_data_comes_out(input in data(400), level in 1..=12_u8, room in rooms()) {
        pack(&mut Deflate::new(level), &input, room.max(4096));
    }

    /// Both split into blocks by estimates. Where a few hundred bytes of one kind follow those of another, as here,
    /// the library's blocks are smaller by up to 6 % once in some thousand inputs.
    #[test]
    fn a_whole_input_takes_about_the_librarys_stream(input in data(60), level in 1..=12_u8) {
        let (written, library) = beside_the_library(&input, level);
        prop_assert!(written <= library + library / 8 + 64, "{written} against {library}");
    }
}

/// The bytes of `input` as one stream: ours, the library's.
fn beside_the_library(input: &[u8], level: u8) -> (usize, usize) {
    let (fit, _) = fill(&mut Deflate::new(level), input, 4 << 20);
    assert_eq!(fit.consumed, input.len());
    let library = Libdeflate::new(level).unwrap().compress(input, &mut vec![0; 4 << 20]).unwrap();
    (fit.written, library)
}

#[test]
fn a_text_takes_no_more_than_the_librarys_stream() {
    let input: Vec<u8> = text(3).take(400_000).collect();
    // Levels 7 to 9 search less than the library's, and take less time.
    for (level, library) in (1..=12).zip([1, 2, 3, 4, 5, 6, 6, 6, 6, 10, 11, 12]) {
        let (written, _) = beside_the_library(&input, level);
        let (_, library) = beside_the_library(&input, library);
        assert!(written <= library + library / 200 + 8, "{level}: {written} against {library}");
    }
}

#[test]
fn every_level_fills() {
    let input: Vec<u8> = text(1).take(400_000).collect();
    for level in 1..=12 {
        let (fit, stream) = fill(&mut Deflate::new(level), &input, 16384);
        check(&fit, &stream, &input, 16384);
        assert!(fit.consumed > 2 * fit.written, "{level} {fit:?}");
    }
}

#[test]
fn noise_is_stored_and_marked() {
    let noise: Vec<u8> = random(7).take(300_000).collect();
    for room in [64, 4096, 65536, 200_000] {
        let (fit, stream) = fill(&mut Deflate::new(9), &noise, room);
        check(&fit, &stream, &noise, room);
        assert!(fit.consumed + 5 * room.div_ceil(65_535) + 8 >= fit.written, "{fit:?}");
    }
    let (fit, stream) = fill(&mut Deflate::new(9), &noise, 200_000);
    check(&fit, &stream, &noise, 200_000);
    assert_eq!(
        stream[0], 8,
        "a stored block that is not the last begins with zeros but for the mark"
    );
}

#[test]
fn zeros_end_where_a_segment_may() {
    let input = vec![0; 16 << 20];
    for (room, level) in [(4096, 9), (65536, 1), (1 << 20, 12)] {
        let (fit, stream) = fill(&mut Deflate::new(level), &input, room);
        let end = input.len().min(12 << 20);
        check(&fit, &stream, &input[..end], room);
        assert!(fit.consumed > 900 * fit.written, "{fit:?}");
    }
}

#[test]
fn nothing_is_no_error() {
    let mut encoder = Deflate::new(9);
    for (input, room) in [(&[][..], 4096), (&[1], 0), (&[1, 2, 3], 1)] {
        assert_eq!(fill(&mut encoder, input, room).0, Fit { consumed: 0, written: 0 });
    }
    assert_eq!(inflate(&[], &mut [0; 9]), None);
    assert_eq!(inflate_partial(&[], &mut [0; 9]), None);
    assert_eq!(inflate_partial(&[], &mut []), Some(0));
}
