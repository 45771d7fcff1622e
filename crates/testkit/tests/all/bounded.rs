//! Measures the peak memory of building a large file and a large tree.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use lith_testkit::{place, tier};

const MIB: u64 = 1 << 10;

/// The most memory, in KiB, that building in a process of its own takes.
fn peak(words: [&str; 2], image: &Path) -> u64 {
    // By default, glibc keeps more of the freed memory the larger the freed blocks were, and so the order of calls counts.
    let output = Command::new(env!("CARGO_BIN_EXE_lith-test-child"))
        .env("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=131072")
        .args(words)
        .arg(image)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}

/// Small ones always, so that a leak is found early; those of the promise by a variable.
#[test]
fn a_large_file_takes_no_more_memory_than_the_budget() {
    let folder = place::large_folder();
    let image = folder.path().join("image");
    let gib: u64 = if tier::is_heavy() { 10 } else { 1 };
    for kind in ["large-file", "large-file-in-chunks"] {
        let peak = peak([kind, &(gib << 30).to_string()], &image);
        let stored = fs::metadata(&image).unwrap().len();
        say(format!(
            "{kind}, {gib} GiB: {} MiB of memory, {} MiB of image",
            peak / MIB,
            stored >> 20
        ));
        assert!(peak < 256 * MIB, "{kind}: {peak} KiB");
    }
}

#[test]
fn a_small_file_takes_less_than_1_kib_of_memory() {
    let folder = place::large_folder();
    let image = folder.path().join("image");
    let thousands: u64 = if tier::is_heavy() { 1000 } else { 100 };
    for kind in ["many-files", "many-files-in-metabox"] {
        let peak = peak([kind, &(thousands * 1000).to_string()], &image);
        say(format!("{kind}, {thousands} thousand: {} MiB of memory", peak / MIB));
        // The budget for data counts whatever the number of files.
        let allowed = thousands * 1000 + if tier::is_heavy() { 0 } else { 160 * MIB };
        assert!(peak < allowed, "{kind}: {peak} KiB, {allowed} allowed");
    }
}

#[test]
fn encoders_of_many_rules_take_little_more_memory_than_those_of_a_few() {
    let folder = place::large_folder();
    let image = folder.path().join("image");
    // A worker keeps three, and these need most.
    let few = peak(["rules", "lzma,102,103,104"], &image);
    let many = peak(["rules", "lzma,2,3,4,5,6,7,8,9,100,101,102,103,104"], &image);
    println!("rules: {} MiB of memory for 3, {} MiB for 13", few / MIB, many / MIB);
    assert!(many < few + few / 4, "{few} KiB for 3 rules, {many} KiB for 13");
}

#[expect(clippy::needless_pass_by_value, reason = "callers hand over what they just made")]
fn say(fact: String) {
    if tier::is_heavy() {
        tier::ran("10 GiB and a million files");
    } else {
        tier::skip(
            "10 GiB and a million files",
            "LITH_HEAVY_TESTS is not 1; smaller ones are built",
        );
    }
    println!("{fact}");
}
