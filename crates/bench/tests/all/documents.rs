//! Do the documents show what was measured?

use std::path::{Path, PathBuf};

use lith_bench::render::documents;

#[test]
fn documents_show_the_results_that_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["README.md", "docs/benchmarks.md"] {
        let stale = documents::stale(&root.join(name), &root.join("docs/benchmarks")).unwrap();
        assert_eq!(
            stale,
            Vec::<PathBuf>::new(),
            "differ from what the results in docs/benchmarks give"
        );
    }
}
