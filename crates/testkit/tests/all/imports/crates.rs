//! Checks that crates depend only on those further down, and each only on what it may know.

use std::{fs, path::Path};

use super::{crate_names, crates_folder};

/// All crates, each above those that it may depend on.
const ORDER: [&str; 29] = [
    "system",
    "observer",
    "markup",
    "parallel",
    "beneath",
    "fanotify",
    "format",
    "codec",
    "device",
    "remote",
    "verity",
    "tree",
    "transform",
    "reader",
    "survey",
    "squashfs",
    "source",
    "builder",
    "delta",
    "profile",
    "bases",
    "check",
    "export",
    "fuse",
    "report",
    "lith",
    "bench",
    "cli",
    "testkit",
];

/// Crates that don't know one another although the order would allow it.
const STRANGERS: [(&str, &str, &str); 9] = [
    ("squashfs", "tree", "readers serve an image and build no tree of it"),
    ("codec", "format", "compression knows bytes, not where an image stores them"),
    ("tree", "format", "a tree is a filesystem without any format"),
    ("tree", "codec", "a tree is a filesystem without any format"),
    ("reader", "tree", "readers serve an image and build no tree of it"),
    ("builder", "source", "a builder takes a tree, wherever that comes from"),
    ("builder", "reader", "a builder writes images and reads none"),
    ("fuse", "tree", "a server answers from the image"),
    ("check", "tree", "a check walks the image as it is stored"),
];

/// The crates of ours that a crate's product code depends on.
fn dependencies(name: &str) -> Vec<String> {
    let path = crates_folder().join(name).join("Cargo.toml");
    let manifest = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    dependencies_in(&manifest)
}

fn dependencies_in(manifest: &str) -> Vec<String> {
    let mut is_product = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            is_product = section.contains("dependencies]") && !section.contains("dev-dependencies");
        }
        let key = line.split(['=', '.', ' ']).next().unwrap_or_default();
        if is_product && key == "lith" {
            found.push(key.to_owned());
        } else if let Some(name) = key.strip_prefix("lith-").filter(|_| is_product) {
            found.push(name.to_owned());
        }
    }
    found
}

#[test]
fn crates_depend_on_those_further_down_only() {
    for name in crate_names() {
        let place = |name: &str| ORDER.iter().position(|crate_name| *crate_name == name);
        let own = place(&name).unwrap_or_else(|| panic!("{name} is missing in ORDER"));
        for other in dependencies(&name) {
            let below = place(&other).is_some_and(|other| other < own);
            assert!(below, "{name} depends on {other}, which is not further down");
        }
    }
}

#[test]
fn crates_know_no_more_than_they_need() {
    for (name, other, reason) in STRANGERS {
        let all = dependencies(name);
        assert!(!all.iter().any(|found| found == other), "{name} depends on {other}: {reason}");
    }
}

#[test]
fn dependencies_are_found_in_every_way_of_writing_them() {
    let manifest = "[package]\nname = \"lith-x\"\nlith-a = 1\n[dependencies]\nlith-b.workspace = true\n\
        lith-c = { workspace = true }\nlith.workspace = true\nserde = \"1\"\n[dev-dependencies]\nlith-d = \"1\"\n\
        [target.'cfg(unix)'.dependencies]\nlith-e.workspace = true\n[lints]\nlith-f = true\n";
    assert_eq!(dependencies_in(manifest), ["b", "c", "lith", "e"]);
}

/// Whether a source has an example that rustdoc would run.
fn has_example(source: &str) -> bool {
    let mut is_open = false;
    source.lines().any(|line| {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(language) = doc.and_then(|doc| doc.trim_start().strip_prefix("```")) else {
            return false;
        };
        is_open = !is_open;
        is_open && language != "text"
    })
}

/// Whether a file below a folder has an example.
fn have_examples(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let mut paths = entries.map(|entry| entry.expect("an entry of a folder of sources").path());
    paths.any(|path| {
        if path.is_dir() {
            return have_examples(&path);
        }
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        is_source && has_example(&fs::read_to_string(&path).expect("a source"))
    })
}

/// Without `doctest = false`, cargo starts rustdoc for each crate, which takes seconds where there is nothing to run.
#[test]
fn crates_with_examples_and_no_others_run_them() {
    for name in crate_names() {
        let folder = crates_folder().join(&name);
        if !folder.join("src/lib.rs").is_file() {
            continue;
        }
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let runs = !manifest.contains("doctest = false");
        assert_eq!(runs, have_examples(&folder.join("src")), "examples of {name}");
    }
}

#[test]
fn examples_are_found() {
    assert!(has_example("//! ```\n//! f();\n//! ```"));
    assert!(has_example(
        "/// ```text\n/// a\n/// ```\n    /// ```no_run\n    /// g();\n    /// ```"
    ));
    assert!(!has_example("/// ```text\n/// a\n/// ```\nlet fence = \"```\";"));
}
