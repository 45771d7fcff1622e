//! Tests that damaged images don't make gathering facts panic, hang or exhaust memory.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use lith::{device::MemoryDevice, reader::Image, tree::Filesystem};
use lith_report::{estimate, gather, page};
use lith_testkit::{corpus, golden, image, matrix, mutation, place, recipe, tier};

/// Everything.
fn whole() -> lith_report::Options {
    let mut options = lith_report::Options::default();
    options.equal_files = true;
    options
}

/// The longest time for one image, on a busy machine: all are small.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of a page about a small image.
const PAGE: usize = 2 << 20;

/// Gathers facts if the image can be opened; returns whether that succeeded.
fn try_one(name: &str, bytes: Vec<u8>) -> bool {
    let started = Instant::now();
    let size = bytes.len() as u64;
    let Ok(image) = Image::open(MemoryDevice::new(bytes)) else { return false };
    let facts = gather(&image, whole());
    if let Ok(facts) = &facts {
        let details = facts.details.as_ref().unwrap();
        let regions = &details.devices_map.first().unwrap().regions;
        assert_eq!(regions.iter().map(|region| region.bytes).sum::<u64>(), size, "{name}");
        let page = page(name.as_bytes(), facts);
        assert!(page.len() < PAGE, "{name}: a page of {} bytes", page.len());
    }
    assert!(started.elapsed() < PATIENCE, "{name}: {:?}", started.elapsed());
    facts.is_ok()
}

#[test]
fn bad_images_are_tried_with_presets_or_refused() {
    let place = place::folder();
    let mut outcomes = [0, 0];
    for entry in fs::read_dir(golden::folder().join("../bad")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "erofs") {
            continue;
        }
        let Ok(image) = Image::open(MemoryDevice::new(fs::read(&path).unwrap())) else { continue };
        let Ok(facts) = gather(&image, whole()) else { continue };
        let options = image::compressed(image::lz4hc(1), 4096);
        let candidates = [("lz4", options)];
        let estimates = estimate(&Arc::new(image), &facts, &candidates, place.path());
        outcomes[usize::from(estimates.is_ok())] += 1;
    }
    assert!(outcomes[0] > 2 && outcomes[1] > 2, "{outcomes:?}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn bad_images_are_reported_or_refused() {
    let folder = golden::folder().join("../bad");
    let mut outcomes = [0, 0];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "erofs") {
            let is_reported = try_one(&path.display().to_string(), fs::read(&path).unwrap());
            outcomes[usize::from(is_reported)] += 1;
        }
    }
    assert!(outcomes[0] > 5 && outcomes[1] > 5, "{outcomes:?}");
}

#[test]
fn inputs_from_fuzzing_are_reported_or_refused() {
    for (name, bytes) in corpus::inputs("reader_open_walk") {
        try_one(&name, bytes);
    }
}

#[test]
fn damaged_images_are_reported_or_refused() {
    let seeds = lith_testkit::noise::bytes(lith_testkit::noise::Texture::Noise, 5, 3000);
    let (tree, contents) = recipe::from_bytes(&seeds).follow();
    let count = if tier::is_heavy() { 100 } else { 12 };
    let mut outcomes = [0, 0];
    for (number, (name, options)) in matrix::all(12).into_iter().enumerate() {
        let bytes = image::build(Filesystem::new(&tree, &contents), &options);
        let hot = mutation::hot_ranges(&bytes);
        for seed in 0..count {
            let mut damaged = bytes.clone();
            if damaged.len() > 1032 {
                damaged[1032] &= !1;
            }
            let seed = number as u64 * 1000 + seed;
            mutation::mutate(&mut damaged, &hot, seed);
            outcomes[usize::from(try_one(&format!("{name}, seed {seed}"), damaged))] += 1;
        }
    }
    assert!(outcomes[0] > 100 && outcomes[1] > 100, "{outcomes:?}");
}
