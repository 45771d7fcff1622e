//! Tests that our LZ4 encoders pack no looser than liblz4, and that what [`Encoder::plain_run`] skips can be packed by
//! none of both.

use proptest::collection::vec;
use proptest::prelude::*;

use super::common::{data, random, text};
use crate::ffi::lz4;
use crate::{Compressor, Encoder, Fit};

const BLOCK: usize = 512;
const BEST: Compressor = Compressor::Lz4Hc { level: 12 };

/// An encoder of the library, or one of ours.
type Fill = Box<dyn FnMut(&[u8], &mut [u8]) -> Fit>;

fn ours(compressor: &Compressor) -> Fill {
    let mut encoder = Encoder::new(compressor);
    Box::new(move |input, output| {
        encoder.fill(input, output).unwrap().unwrap_or(Fit { consumed: 0, written: 0 })
    })
}

fn library_fast() -> Fill {
    Box::new(lz4::fill_fast)
}

fn library_best() -> Fill {
    let mut state = lz4::HcState::new();
    Box::new(move |input, output| lz4::fill_hc(&mut state, input, output, 12))
}

/// The bytes that all of `input` takes in pclusters, and in blocks of 4 KiB where none gains anything.
fn packed_size(fill: &mut Fill, input: &[u8], room: usize) -> usize {
    let (mut rest, mut size, mut output) = (input, 0, vec![0; room]);
    while !rest.is_empty() {
        let Fit { consumed, written } = fill(rest, &mut output);
        let (taken, stored) = if consumed > written {
            (consumed, written)
        } else {
            (rest.len().min(4096), rest.len().min(4096))
        };
        size += stored;
        rest = &rest[taken..];
    }
    size
}

fn saves_a_block(fill: &mut Fill, input: &[u8], room: usize) -> bool {
    let fit = fill(input, &mut vec![0; room]);
    fit.written.next_multiple_of(BLOCK) < fit.consumed
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
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn own_encoder_packs_no_looser_than_the_library(input in data(200), room in 4096..70_000_usize) {
        let own = packed_size(&mut ours(&BEST), &input, room);
        let library = packed_size(&mut library_best(), &input, room);
        // Single pclusters may differ by a few bytes either way.
        prop_assert!(own <= library + library / 500 + 32, "{} against {}", own, library);
    }
}

#[test]
fn own_fast_encoder_packs_text_no_looser_than_the_library() {
    let input: Vec<u8> = text(1).take(600_000).collect();
    for room in [4096, 16384, 65536] {
        let own = packed_size(&mut ours(&Compressor::Lz4), &input, room);
        let library = packed_size(&mut library_fast(), &input, room);
        assert!(own <= library + library / 100, "{own} against {library} of {room}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn skipped_blocks_could_not_be_packed(
        input in prop_oneof![3 => nearly_noise(), 1 => data(8)],
        blocks in 1..16_usize,
    ) {
        let room = blocks * BLOCK;
        let run = Encoder::new(&BEST).plain_run(&input, room, BLOCK);
        prop_assert!(run == input.len() || run > 0 && run.is_multiple_of(BLOCK) && run < input.len());
        for start in (BLOCK..run).step_by(BLOCK) {
            for mut encoder in [library_fast(), library_best(), ours(&BEST)] {
                prop_assert!(!saves_a_block(&mut encoder, &input[start..], room), "at {}", start);
            }
        }
    }
}
