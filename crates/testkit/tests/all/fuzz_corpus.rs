//! Replays everything that fuzzers ever found.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{fs, panic};

use lith_testkit::{
    corpus,
    fuzz::{self, TARGETS},
    golden, mutation,
    noise::{self, Texture},
};

#[test]
fn the_corpus_of_every_target() {
    for (name, target) in TARGETS {
        let inputs = corpus::inputs(name);
        assert!(!inputs.is_empty(), "{name}: no inputs");
        for (file, bytes) in inputs {
            panic::catch_unwind(|| target(&bytes)).unwrap_or_else(|_told| panic!("{name}: {file}"));
        }
    }
}

#[test]
fn golden_images_and_tars_are_inputs_too() {
    for golden in golden::all() {
        for file in golden.files() {
            let bytes = fs::read(file).unwrap();
            fuzz::reader_open_walk(&bytes);
            fuzz::tar_source(&bytes);
        }
    }
}

/// Some steps of fuzzing, always the same: inputs of the corpus, changed.
#[test]
fn changed_inputs() {
    for (name, target) in TARGETS {
        let inputs = corpus::inputs(name);
        let rounds = if matches!(name, "build_roundtrip" | "reader_open_walk" | "delta_apply") {
            300
        } else {
            3000
        };
        for round in 0..rounds {
            let (file, bytes) = &inputs[usize::try_from(round).unwrap() % inputs.len()];
            let mut bytes = bytes.clone();
            mutation::mutate(&mut bytes, &[], round);
            panic::catch_unwind(|| target(&bytes))
                .unwrap_or_else(|_told| panic!("{name}: {file} in round {round}"));
        }
    }
}

#[test]
fn bytes_without_meaning() {
    for (name, target) in TARGETS {
        for seed in 0..200 {
            for texture in [Texture::Noise, Texture::Mixed] {
                let length = usize::try_from(seed * seed / 4).unwrap();
                let bytes = noise::bytes(texture, seed, length);
                panic::catch_unwind(|| target(&bytes))
                    .unwrap_or_else(|_told| panic!("{name}: {texture:?} {seed}"));
            }
        }
    }
}
