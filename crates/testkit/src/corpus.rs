//! Reads the inputs that fuzzers found.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folder of a fuzz target's corpus.
#[must_use]
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// All inputs of a target, each with its file's name, sorted.
#[must_use]
pub fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder(target)).unwrap_or_else(|error| panic!("{target}: {error}"));
    let mut inputs: Vec<_> = files
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap())
        })
        .collect();
    inputs.sort();
    inputs
}
