//! Do the documents show what was measured?

use std::{
    fs,
    path::{Path, PathBuf},
};

use lith_bench::render::documents;

const DOCUMENTS: [&str; 2] = ["README.md", "docs/benchmarks.md"];

#[test]
fn documents_show_the_results_that_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in DOCUMENTS {
        let stale = documents::stale(&root.join(name), &root.join("docs/benchmarks")).unwrap();
        assert_eq!(
            stale,
            Vec::<PathBuf>::new(),
            "differ from what the results in docs/benchmarks give"
        );
    }
}

#[test]
fn every_picture_of_results_is_in_a_document() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name| fs::read_to_string(root.join(name)).unwrap();
    let text = DOCUMENTS.map(read).concat();
    let files = fs::read_dir(root.join("docs/benchmarks")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let is_picture = |name: &String| Path::new(name).extension().is_some_and(|is| is == "svg");
    let unused: Vec<_> = names.filter(|name| is_picture(name) && !text.contains(name)).collect();
    assert_eq!(unused, Vec::<String>::new());
}
