//! Defines suites that check and extract whole images.

use super::shared::{at_least, lith, runs, series, squashfs, table, workers};
use crate::{
    corpus::Names,
    image::Recipe,
    results::{Limit, Metric, Target},
    suite::{Entry, Suite, Table},
};

const CHECKED: &[Metric] = &[Metric::Wall, Metric::Cpu, Metric::CpuRate, Metric::PeakMemory];
const EXTRACTED: &[Metric] = &[Metric::Wall, Metric::Cpu, Metric::Rate, Metric::PeakMemory];

/// Every structure and every byte of data.
pub(super) fn check(corpora: &Names) -> Suite {
    let rate = Target { metric: Metric::CpuRate, relative: false, limit: Limit::Least(400e6) };
    let tables = corpora.trees.iter().map(|tree| {
        let kind = "lz4hc,12, 64 KiB";
        let entry = runs(series::LITH, kind, &lith("-z lz4hc,12 -C 65536"), "lith check IMAGE");
        let entry = Entry { targets: vec![rate], ..entry };
        let (name, title) = (format!("tree-{tree}"), format!("Checking {tree}"));
        let table = table(&name, &title, tree, (CHECKED, Metric::Wall), [entry]);
        Table { plot: None, ..table }
    });
    Suite {
        name: "check",
        title: "Checking images",
        about: "All structures are read and all data is decompressed.",
        tables: tables.collect(),
    }
}

pub(super) fn extract(corpora: &Names) -> Suite {
    let tables = corpora.trees.iter().map(|tree| {
        let (name, title) = (format!("tree-{tree}"), format!("Extracting {tree}"));
        table(&name, &title, tree, (EXTRACTED, Metric::Wall), extracts())
    });
    Suite {
        name: "extract",
        title: "Extracting images",
        about: "A whole tree comes back into a directory, with owners and times.",
        tables: tables.collect(),
    }
}

fn extracts() -> Vec<Entry> {
    let kinds = [
        ("lz4hc, 64 KiB", lith("--kernel 6.12 -z lz4hc,12 -C 65536"), squashfs("-comp lz4 -Xhc")),
        (
            "zstd, 64 KiB",
            lith("--kernel 6.12 -z zstd,3 -C 65536"),
            squashfs("-comp zstd -Xcompression-level 3"),
        ),
    ];
    let unsquashfs =
        format!("unsquashfs -quiet -no-progress -processors {} -dest DIR IMAGE", workers());
    let rival = |series, kind, image: &Recipe, command: &str| Entry {
        against: Some(series::LITH),
        targets: vec![at_least(Metric::Wall, 1.0)],
        ..runs(series, kind, image, command)
    };
    let entries = kinds.iter().flat_map(|(kind, erofs, squash)| {
        [
            runs(series::LITH, kind, erofs, "lith extract -C DIR IMAGE"),
            rival(series::FSCK, kind, erofs, "fsck.erofs --extract=DIR IMAGE"),
            rival(series::UNSQUASHFS, kind, squash, &unsquashfs),
        ]
    });
    entries.collect()
}
