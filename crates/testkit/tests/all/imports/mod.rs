//! Do the files of a crate import one another in one direction, and the crates too?
//!
//! An arrow goes from file A to file B if A names an item that B defines: in a `use`, or by a path in its code, macro
//! calls and attributes. What counts:
//!
//! * Re-exports are followed to the file that defines the item. A `pub use` alone is no arrow, nor is `mod b;`: a
//!   folder's `mod.rs` may list its files, and they may use types that it defines, as long as its code uses none of theirs.
//! * A private `use` is an arrow of the file that has it. An import of a whole module is none before something in it
//!   is named.
//! * An `impl` block without a trait in another file than its type's is an arrow from the block to the type. It is one
//!   back as well if the type's file calls a method of the block.
//! * Implementing a trait, and calls through a trait, are no arrows to the implementation: that is what traits are for.
//! * Whatever only tests have (`#[cfg(test)]`, `#[test]`) does not count.
//!
//! A circle is a set of files of which each reaches all others. No crate has one, but for [`EXCEPTIONS`].

#![allow(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends where something is missing"
)]

mod crates;
mod graph;
mod samples;
mod scan;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use self::graph::{Arrows, Crate, circles};

/// An arrow that may be part of a circle.
struct Exception {
    krate: &'static str,
    from: &'static str,
    to: &'static str,
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[];

/// The folder of all crates.
fn crates_folder() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("the crate is in a folder of crates").to_owned()
}

/// The names of the crates' folders, in order.
fn crate_names() -> Vec<String> {
    let entries = fs::read_dir(crates_folder()).expect("the folder of crates");
    let paths = entries.map(|entry| entry.expect("an entry of the folder of crates").path());
    let with_manifest = paths.filter(|path| path.join("Cargo.toml").is_file());
    let name = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<_> = with_manifest.filter_map(name).collect();
    names.sort();
    names
}

fn load(name: &str) -> Crate {
    let folder = crates_folder().join(name).join("src");
    let programs = fs::read_dir(folder.join("bin")).into_iter().flatten().flatten();
    let programs = programs.map(|entry| format!("bin/{}", entry.file_name().to_string_lossy()));
    let roots: Vec<_> =
        ["lib.rs".to_owned(), "main.rs".to_owned()].into_iter().chain(programs).collect();
    let roots: Vec<_> = roots.iter().map(String::as_str).collect();
    Crate::load(&roots, &|path| fs::read_to_string(folder.join(path)).ok())
}

/// The circles of a crate with all their arrows, as text for people.
fn circles_text(name: &str, all: &Crate, arrows: &Arrows) -> String {
    let kept: BTreeSet<_> =
        arrows.keys().filter(|arrow| !is_exception(name, all, arrow)).copied().collect();
    let mut text = String::new();
    for circle in circles(&kept) {
        let files: Vec<_> = circle.iter().map(|file| all.files[*file].as_str()).collect();
        let _ = writeln!(text, "{name}: a circle of {} files: {}", files.len(), files.join(", "));
        let is_within = |(from, to): &(usize, usize)| circle.contains(from) && circle.contains(to);
        for (arrow @ (from, to), cause) in arrows {
            if kept.contains(arrow) && is_within(arrow) {
                let _ = writeln!(text, "    {} -> {} ({cause})", all.files[*from], all.files[*to]);
            }
        }
    }
    text
}

fn is_exception(name: &str, all: &Crate, (from, to): &(usize, usize)) -> bool {
    let is_it =
        |e: &Exception| e.krate == name && e.from == all.files[*from] && e.to == all.files[*to];
    EXCEPTIONS.iter().any(is_it)
}

#[test]
fn the_files_of_a_crate_import_one_another_in_one_direction() {
    let mut failed = String::new();
    for name in crate_names() {
        let all = load(&name);
        failed += &circles_text(&name, &all, &all.arrows());
    }
    assert!(failed.is_empty(), "files import one another in a circle:\n{failed}");
}

#[test]
fn each_exception_gives_a_reason_and_is_of_an_arrow_in_a_circle() {
    for Exception { krate, from, to, reason } in EXCEPTIONS {
        assert!(reason.len() > 20, "{krate}: {from} -> {to}: why?");
        let all = load(krate);
        let arrows: BTreeSet<_> = all.arrows().into_keys().collect();
        let number = |path: &str| all.files.iter().position(|file| file == path);
        let ends = number(from).zip(number(to));
        let is_in_circle = ends.is_some_and(|(from, to)| {
            let is_circle = |circle: &Vec<usize>| circle.contains(&from) && circle.contains(&to);
            arrows.contains(&(from, to)) && circles(&arrows).iter().any(is_circle)
        });
        assert!(is_in_circle, "{krate}: {from} -> {to} is in no circle: remove the exception");
    }
}

#[test]
fn releases_of_linux_are_named_in_the_table_of_capabilities_only() {
    // Tests and testkit name releases to test with.
    for name in crate_names().iter().filter(|name| *name != "testkit") {
        let all = load(name);
        let mut files = all.naming(&["KernelVersion", "new"]);
        if name == "format" {
            assert!(files.remove("kernel/capability.rs"), "the scanner finds nothing");
            files.remove("kernel/version.rs");
            // The kernels of distributions, which are no first ones.
            files.remove("kernel/target.rs");
        }
        assert!(files.is_empty(), "{name}: {files:?} must use `Capability`");
    }
}
