//! Does the guide name the kernels of the table of capabilities?

use std::{fs, path::Path};

use lith_format::kernel::{Capability, KernelVersion, Target};

/// The options of which docs/guide/build.md names the first kernel, in its order.
const OPTIONS: [(&str, Capability); 16] = [
    ("deflate,LEVEL", Capability::Deflate),
    ("zstd,LEVEL", Capability::Zstd),
    ("lzma,LEVEL", Capability::Lzma),
    ("-C SIZE", Capability::BigPcluster),
    ("-E fragments", Capability::Fragments),
    ("-E all-fragments", Capability::Fragments),
    ("-E ztailpacking", Capability::Ztailpacking),
    ("-E dedupe", Capability::PartialReferences),
    ("-E 48bit", Capability::Bits48),
    ("-E dot-omitted", Capability::DotOmitted),
    ("-m SIZE[:ALGORITHM]", Capability::Metabox),
    ("--zD", Capability::Metabox),
    ("--xattr-prefix PREFIX", Capability::LongXattrPrefixes),
    ("--index records", Capability::ExtentRecords),
    ("--chunk-size SIZE", Capability::Chunks),
    ("--blob FILE", Capability::Devices),
];

#[test]
fn the_guide_names_the_kernels_of_the_capabilities() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/build.md");
    let guide = fs::read_to_string(path).unwrap();
    assert_eq!(guide.lines().filter_map(named).collect::<Vec<_>>(), OPTIONS.map(expected));
    assert!(guide.contains(&format!("by default {}", KernelVersion::DEFAULT)));
}

/// The option and the kernel of a table's row, if its third column names one.
fn named(line: &str) -> Option<(&str, KernelVersion)> {
    let cells = line.strip_prefix('|')?.split('|').map(str::trim).collect::<Vec<_>>();
    let [option, _, since, ..] = cells[..] else { return None };
    Some((option.trim_matches('`'), since.parse().ok()?))
}

const fn expected((option, capability): (&str, Capability)) -> (&str, KernelVersion) {
    (option, capability.since())
}

#[test]
fn the_guide_has_the_table_of_distributions() {
    let guide = include_str!("../../../docs/guide/build.md");
    for target in Target::ALL {
        let algorithms: Vec<_> =
            target.algorithms.iter().map(|algorithm| algorithm.name()).collect();
        let row = format!("| `{target}` | {} | {} |", target.kernel, algorithms.join(", "));
        assert!(guide.contains(&row), "{row}");
    }
}
