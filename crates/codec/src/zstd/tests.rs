//! Tests that each frame holds what was consumed.

use proptest::prelude::*;

use super::Zstd;
use crate::Fit;
use crate::ffi::zstd::{decompress, decompress_rolling};

const ROOMS: [usize; 9] = [16, 40, 100, 300, 1000, 4096, 16384, 65536, 1 << 18];

struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below.max(1)
    }
}

/// Runs of noise, zeros, repeats and letters, mixed as `seed` has it.
fn texture(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random(seed);
    let mut out = Vec::with_capacity(len);
    let alphabet = 1 + random.next(256);
    let longest = 1 << (2 + random.next(14));
    while out.len() < len {
        let run = 1 + random.next(longest);
        match random.next(5) {
            0 => out.extend((0..run).map(|_| random.next(256).to_le_bytes()[0])),
            1 => out.resize(out.len() + run, 0),
            2 => out.extend((0..run).map(|_| random.next(alphabet).to_le_bytes()[0])),
            _ if !out.is_empty() => {
                let distance = 1 + random.next(out.len());
                for _ in 0..run {
                    out.push(out[out.len() - distance]);
                }
            }
            _ => {}
        }
    }
    out.truncate(len);
    out
}

fn text(len: usize) -> Vec<u8> {
    let mut random = Random(1);
    let mut out = Vec::new();
    while out.len() < len {
        let (a, b) = (random.next(4000), random.next(30));
        out.extend_from_slice(format!("{a} line {b} of ").as_bytes());
    }
    out.truncate(len);
    out
}

fn fill(zstd: &mut Zstd, input: &[u8], room: usize) -> (Fit, Vec<u8>) {
    let mut output = vec![0xA5; room];
    let fit = zstd.fill(input, &mut output);
    assert!(fit.written <= room && fit.consumed <= input.len());
    output.truncate(fit.written);
    (fit, output)
}

/// Checks a frame by libzstd's own calls and by ours.
fn check(stream: &[u8], content: &[u8]) {
    if stream.is_empty() {
        assert!(content.is_empty());
        return;
    }
    assert_eq!(zstd::bulk::decompress(stream, content.len()).unwrap(), content);
    let mut back = vec![0; content.len()];
    assert_eq!(decompress(stream, &mut back), Some(content.len()));
    assert_eq!(back, content);
    back.fill(0);
    assert_eq!(decompress_rolling(stream, 0, &mut back, &mut []), Some(content.len()));
    assert_eq!(back, content);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn textures_are_held(
        seed: u64,
        len in prop_oneof![0..50_usize, 0..3000_usize, 0..400_000_usize],
        room in prop_oneof![prop::sample::select(&ROOMS[..]), 0..70_000_usize],
        level in -7..=22_i32,
        window_log in 10..=20_u32,
    ) {
        let input = texture(seed, len);
        let mut zstd = Zstd::new(level, window_log);
        let mut rest = &input[..];
        for _ in 0..5 {
            let (fit, stream) = fill(&mut zstd, rest, room);
            check(&stream, &rest[..fit.consumed]);
            // The same again, after others.
            prop_assert_eq!(&fill(&mut Zstd::new(level, window_log), rest, room), &(fit, stream));
            rest = &rest[fit.consumed..];
        }
    }

    #[test]
    fn damage_is_refused_or_harmless(seed: u64, at: prop::sample::Index, bit in 0..8_u32, cut: prop::sample::Index) {
        let input = texture(seed, 20_000);
        let (fit, mut stream) = fill(&mut Zstd::new(3, 16), &input, 4096);
        prop_assume!(fit.consumed > 0);
        let mut back = vec![0; fit.consumed];
        prop_assert_eq!(decompress(&stream[..cut.index(stream.len())], &mut back), None);
        let at = at.index(stream.len());
        stream[at] ^= 1 << bit;
        let _ = decompress(&stream, &mut back);
        let _ = decompress_rolling(&stream, 0, &mut back, &mut []);
        let noise = texture(seed, 200);
        let _ = decompress(&noise, &mut back);
        let _ = decompress_rolling(&noise, 0, &mut back, &mut []);
    }
}

#[test]
fn every_level_and_room() {
    for input in [text(600_000), vec![0; 600_000], texture(7, 600_000)] {
        for level in -7..=22 {
            let mut zstd = Zstd::new(level, 18);
            for room in ROOMS {
                let (fit, stream) = fill(&mut zstd, &input, room);
                check(&stream, &input[..fit.consumed]);
            }
        }
    }
}

#[test]
fn rooms_are_filled() {
    let input = text(2_000_000);
    for (level, room) in [(3, 4096), (3, 65536), (9, 65536), (15, 16384), (3, 1 << 18)] {
        let (fit, _) = fill(&mut Zstd::new(level, 20), &input, room);
        assert!(fit.written + 32 >= room, "level {level}: {fit:?} of {room}");
    }
}

#[test]
fn use_leaves_no_trace() {
    let inputs = [text(300_000), texture(3, 300_000), vec![9; 300_000], texture(11, 5000)];
    for level in [-3, 1, 3, 5, 7, 12, 15, 18, 19] {
        let mut used = Zstd::new(level, 19);
        for round in 0..3 {
            for (index, input) in inputs.iter().enumerate() {
                for room in [4096, 65536] {
                    let input = &input[(round * index * 77)..];
                    let fresh = fill(&mut Zstd::new(level, 19), input, room);
                    assert_eq!(fill(&mut used, input, room), fresh);
                    // Elsewhere in memory.
                    let moved = input.to_vec();
                    assert_eq!(fill(&mut used, &moved, room), fresh);
                }
            }
        }
    }
}

#[test]
fn bytes_far_ahead_do_not_matter() {
    let mut input = text(2_000_000);
    let before = fill(&mut Zstd::new(3, 19), &input, 65536);
    let end = before.0.consumed + 200_000;
    input[end..].fill(0);
    assert_eq!(fill(&mut Zstd::new(3, 19), &input, 65536), before);
    assert_eq!(fill(&mut Zstd::new(3, 19), &input[..end], 65536), before);
}

#[test]
fn content_is_limited() {
    let zeros = vec![0; 16 << 20];
    let (fit, stream) = fill(&mut Zstd::new(3, 20), &zeros, 65536);
    assert_eq!(fit.consumed, 12 << 20);
    check(&stream, &zeros[..fit.consumed]);
}

#[test]
fn noise_gains_nothing() {
    let mut random = Random(5);
    let noise: Vec<u8> = (0..200_000).map(|_| random.next(256).to_le_bytes()[0]).collect();
    for level in [3, 19] {
        let (fit, stream) = fill(&mut Zstd::new(level, 20), &noise, 65536);
        assert!(fit.consumed <= fit.written);
        check(&stream, &noise[..fit.consumed]);
    }
}

#[test]
fn every_prefix_is_decoded() {
    let input = texture(21, 30_000);
    let (fit, stream) = fill(&mut Zstd::new(9, 14), &input, 1000);
    for len in 0..=fit.consumed {
        let mut back = vec![0; len];
        assert_eq!(decompress_rolling(&stream, 0, &mut back, &mut []), Some(len));
        assert_eq!(back, &input[..len]);
    }
    assert_eq!(decompress(&stream, &mut vec![0; fit.consumed - 1]), None);
    let mut longer = vec![0; fit.consumed + 1];
    assert_eq!(decompress(&stream, &mut longer), Some(fit.consumed));
    assert_eq!(decompress_rolling(&stream, 0, &mut longer, &mut []), Some(fit.consumed));
}

#[test]
fn one_frame_of_a_small_window_only() {
    let input = text(3 << 20);
    let (fit, mut stream) = fill(&mut Zstd::new(3, 10), &input, 4096);
    let mut back = vec![0; 4 << 20];
    let twice = [&stream[..], &stream[..]].concat();
    assert_eq!(decompress(&twice, &mut back), None);
    assert_eq!(
        decompress(&[&[0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0], &stream[..]].concat(), &mut back),
        None
    );
    stream.push(0);
    assert_eq!(decompress(&stream, &mut back), None);
    assert_eq!(
        decompress_rolling(&stream, 0, &mut back[..fit.consumed], &mut []),
        Some(fit.consumed)
    );
    for wide in [
        zstd::bulk::compress(&input, 3).unwrap(),
        zstd::stream::encode_all(&input[..], 19).unwrap(),
    ] {
        assert_eq!(decompress(&wide, &mut back), None);
        assert_eq!(decompress_rolling(&wide, 0, &mut back[..10], &mut []), None);
    }
    for short in [&[][..], &[0x28], &[0x28, 0xB5, 0x2F, 0xFD]] {
        assert_eq!(decompress(short, &mut back), None);
        assert_eq!(decompress_rolling(short, 0, &mut back, &mut []), None);
    }
}
