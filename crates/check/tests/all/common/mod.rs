//! Loads golden images and checks changed ones.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may end so, and this is part of tests only"
)]

pub(crate) mod build;
pub(crate) mod cases;
pub(crate) mod data_cases;
pub(crate) mod patch;

use std::{collections::BTreeSet, fmt::Write as _, num::NonZeroUsize, path::PathBuf};

use lith_check::{CheckError, Options, Report, check_devices};
use lith_device::{MemoryDevice, ReadAt};

/// A golden image's bytes and those of its further devices.
#[derive(Clone)]
pub(crate) struct Bytes {
    pub(crate) name: String,
    pub(crate) devices: Vec<Vec<u8>>,
}

/// A folder of tests.
pub(crate) fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name)
}

fn golden_file(name: &str) -> Vec<u8> {
    std::fs::read(folder("golden").join(name)).unwrap()
}

/// All golden images, as images.txt lists them.
pub(crate) fn goldens() -> Vec<Bytes> {
    let rows = String::from_utf8(golden_file("images.txt")).unwrap();
    let rows = rows.lines().filter(|line| !line.starts_with('#'));
    let golden = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let more = words[2].split(',').filter(|word| *word != "-").map(golden_file);
        let first = golden_file(&format!("{}.erofs", words[0]));
        Bytes { name: words[0].to_owned(), devices: std::iter::once(first).chain(more).collect() }
    };
    rows.map(golden).collect()
}

/// The golden image of this name.
pub(crate) fn golden(name: &str) -> Bytes {
    goldens().into_iter().find(|golden| golden.name == name).unwrap()
}

/// Options with `workers` threads.
pub(crate) fn options(workers: usize) -> Options {
    let mut options = Options::default();
    options.workers = NonZeroUsize::new(workers).unwrap();
    options
}

/// Devices in memory.
pub(crate) fn devices(bytes: &[Vec<u8>]) -> Vec<Box<dyn ReadAt>> {
    let device = |bytes: &Vec<u8>| Box::new(MemoryDevice::new(bytes.clone())) as Box<dyn ReadAt>;
    bytes.iter().map(device).collect()
}

/// Checks an image.
pub(crate) fn try_check(bytes: &[Vec<u8>], options: &Options) -> Result<Report, CheckError> {
    check_devices(devices(bytes), options, &())
}

/// Checks an image that can be examined.
pub(crate) fn check(bytes: &[Vec<u8>]) -> Report {
    try_check(bytes, &options(2)).unwrap()
}

/// The ids of the rules that are broken.
pub(crate) fn ids(report: &Report) -> BTreeSet<&'static str> {
    report.by_rule.keys().map(|rule| rule.id()).collect()
}

/// All findings as text.
pub(crate) fn text(report: &Report) -> String {
    report.findings.iter().fold(String::new(), |mut text, finding| {
        writeln!(text, "{finding}").unwrap();
        text
    })
}
