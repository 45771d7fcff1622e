//! Tests that each broken rule is found, and no other.
//!
//! Each case is a golden image that is changed at a computed position. The findings are pinned as text in
//! `tests/bad/findings.txt`, next to small images that are examined unchanged; `LITH_BLESS=1` writes both.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may end so")]

use std::{collections::BTreeMap, fmt::Write as _};

use lith_check::Report;

use crate::common::{
    cases::{BLOCKS, FRAGMENTS, FULL, META, SMALL_BLOCKS, built, cases},
    check, folder, golden, ids,
    patch::Patch,
    text,
};

/// Images of this size are kept in tests/bad.
const SMALL: usize = 16 << 10;

#[test]
fn each_broken_rule_is_found_and_no_other() {
    let mut wrong = String::new();
    for case in cases() {
        let (name, _, _, expected) = case;
        let report = check(&built(case));
        if ids(&report) != expected.iter().copied().collect() {
            write!(wrong, "{name}: expected {expected:?}\n{}", text(&report)).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn a_wrong_checksum_hides_nothing_else() {
    let mut patch = Patch::new(FULL);
    patch.sb(0x30, &[1]);
    patch.nlink("text", 2);
    let report = check(&patch.unsealed());
    assert_eq!(ids(&report), ["nlink-wrong", "sb-checksum"].into());
    assert_eq!(report.findings[0].rule.id(), "sb-checksum");
}

/// A line for each finding: rule, path and inode. How it is worded may change.
fn brief(report: &Report) -> String {
    report.findings.iter().fold(String::new(), |mut text, finding| {
        let path = finding.path.as_deref().map_or("-".into(), String::from_utf8_lossy);
        let nid = finding.nid.map_or("-".to_owned(), |nid| nid.to_string());
        writeln!(text, "{} {path} {nid}", finding.rule).unwrap();
        text
    })
}

/// The findings of findings.txt by image.
fn pinned() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(folder("bad").join("findings.txt")).unwrap_or_default();
    let mut pinned = BTreeMap::<String, String>::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, finding) = line.split_once(' ').unwrap();
        writeln!(pinned.entry(name.to_owned()).or_default(), "{finding}").unwrap();
    }
    pinned
}

/// The images that tests/bad has or should have.
fn small_images() -> Vec<(String, Vec<u8>)> {
    let built = cases().map(|case| (case.0.to_owned(), built(case)));
    let small = built.filter(|(_, devices)| devices.len() == 1 && devices[0].len() <= SMALL);
    small.map(|(name, mut devices)| (name, devices.remove(0))).collect()
}

fn bless() {
    let bad = folder("bad");
    for (name, bytes) in small_images() {
        let path = bad.join(format!("{name}.erofs"));
        if !path.exists() {
            std::fs::write(path, bytes).unwrap();
        }
    }
    let mut text =
        "# What is found in the images of this folder? Image, rule, path, inode.\n".to_owned();
    for (name, bytes) in stored() {
        for line in brief(&check(&[bytes])).lines() {
            writeln!(text, "{name} {line}").unwrap();
        }
    }
    std::fs::write(bad.join("findings.txt"), text).unwrap();
}

/// The images of tests/bad by name.
fn stored() -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder("bad")).unwrap().map(|entry| entry.unwrap().path());
    let images = entries.filter(|path| path.extension().is_some_and(|name| name == "erofs"));
    let stored = images.map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(path).unwrap())
    });
    stored.collect()
}

#[test]
fn bad_images_have_the_findings_that_are_pinned() {
    if std::env::var_os("LITH_BLESS").is_some() {
        bless();
    }
    let (stored, pinned) = (stored(), pinned());
    assert!(stored.len() > 50, "{}", stored.len());
    assert_eq!(stored.keys().collect::<Vec<_>>(), pinned.keys().collect::<Vec<_>>());
    for (name, bytes) in stored {
        let found = brief(&check(&[bytes]));
        assert_eq!(found, pinned[&name], "{name}");
        let rules = found.lines().filter_map(|line| line.split(' ').next());
        assert!(rules.into_iter().any(|rule| name.starts_with(rule)), "{name}: {found}");
    }
}

#[test]
fn every_rule_has_a_bad_image() {
    // These have tests of their own.
    let elsewhere =
        ["sb-checksum", "extent-not-smaller", "device-failed", "work-limit", "interlaced-inline"];
    let covered = cases().flat_map(|case| case.3).chain(&elsewhere);
    let covered: std::collections::BTreeSet<_> = covered.copied().collect();
    for rule in lith_check::Rule::ALL {
        assert!(covered.contains(rule.id()), "{rule} has no image");
    }
}

#[test]
fn sound_images_are_where_the_cases_begin() {
    for name in [FULL, META, FRAGMENTS, BLOCKS, SMALL_BLOCKS] {
        assert!(check(&golden(name).devices).is_clean(), "{name}");
    }
}
