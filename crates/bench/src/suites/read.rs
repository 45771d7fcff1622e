//! Defines suites that read the same EROFS image by lith over FUSE, other servers and the kernel.

use super::shared::{
    self, TAR, WAYS, at_least, at_most, dwarfs, lith, lith_fuse, reads, reads_by, series, squashfs,
};
use crate::{
    corpus::Names,
    image::Recipe,
    reading::{List, Order, Pattern, Reading},
    results::{Limit, Metric, Plot, Target},
    suite::{Entry, Suite, Table},
};

const SPEED: &[Metric] = &[
    Metric::Wall,
    Metric::Rate,
    Metric::Cpu,
    Metric::ServerCpu,
    Metric::MachineCpu,
    Metric::PeakMemory,
    Metric::Resident,
];
const METADATA: &[Metric] =
    &[Metric::Wall, Metric::Cpu, Metric::ServerCpu, Metric::MachineCpu, Metric::PeakMemory];
const AMPLIFIED: &[Metric] =
    &[Metric::Fetched, Metric::Requests, Metric::Amplification, Metric::Rate];

/// How many times as long each must take as lith does over FUSE.
type Least = &'static [(&'static str, f64)];

/// An EROFS image that all read, and the `SquashFS` image that comes nearest.
fn images(kind: &str) -> (Recipe, Recipe) {
    let (erofs, squash) = match kind {
        "lz4, 4 KiB" => ("-z lz4 -C 4096", "-comp lz4"),
        "lz4, 64 KiB" => ("-z lz4 -C 65536", "-comp lz4"),
        "lz4hc, 64 KiB" => ("-z lz4hc,12 -C 65536", "-comp lz4 -Xhc"),
        "lz4hc, 64 KiB, fragments" => ("-z lz4hc,12 -C 65536 -E fragments", "-comp lz4 -Xhc"),
        "zstd, 64 KiB" => ("-z zstd,3 -C 65536", "-comp zstd -Xcompression-level 3"),
        "zstd, 64 KiB, fragments" => {
            ("-z zstd,3 -C 65536 -E fragments", "-comp zstd -Xcompression-level 3")
        }
        _ => ("-z lzma,6 -C 65536", "-comp xz"),
    };
    (lith(&format!("--kernel 6.12 {erofs}")), squashfs(squash))
}

/// All readers of a kind of image, and their limits.
fn everybody(kind: &str, reading: &Reading, least: Least) -> Vec<Entry> {
    let (erofs, squash) = images(kind);
    let read = |(series, image)| {
        let limit = least.iter().find(|(name, _)| *name == series);
        Entry {
            against: (series != series::LITH_FUSE).then_some(series::LITH_FUSE),
            targets: limit.map(|(_, limit)| at_least(Metric::Wall, *limit)).into_iter().collect(),
            ..reads(series, kind, image, reading)
        }
    };
    let mut entries = [
        (series::LITH_FUSE, &erofs),
        (series::LITH_SMALL_CACHE, &erofs),
        (series::EROFSFUSE, &erofs),
        (series::SQUASHFUSE_LL, &squash),
        (series::SQUASHFUSE, &squash),
        (series::LITH_KERNEL, &erofs),
        (series::SQUASHFS_KERNEL, &squash),
    ]
    .map(read);
    for entry in entries.iter_mut().filter(|entry| entry.series == series::LITH_SMALL_CACHE) {
        entry.targets = vec![at_most(Metric::Wall, 1.5)];
    }
    entries.into()
}

fn table(name: &str, title: &str, corpus: &str, entries: Vec<Entry>) -> Table {
    shared::table(name, title, corpus, (SPEED, Metric::Wall), entries)
}

/// One large file from beginning to end.
pub(super) fn sequential(corpora: &Names) -> Suite {
    let reading =
        Reading::File(Pattern { order: Order::Sequential, piece: 1 << 20, most: None, threads: 1 });
    let slow: Least = &[(series::LITH_KERNEL, 1.5), (series::EROFSFUSE, 2.5)];
    let mut entries = everybody(
        "lz4hc, 64 KiB",
        &reading,
        &[(series::LITH_KERNEL, 0.9), (series::EROFSFUSE, 1.4), (series::SQUASHFUSE_LL, 1.3)],
    );
    entries.extend(everybody("zstd, 64 KiB", &reading, slow));
    entries.extend(everybody("lzma, 64 KiB", &reading, slow));
    // Memory is a budget that is kept.
    let most = f64::from((128 + 16) << 20);
    let target = Target { metric: Metric::PeakMemory, relative: false, limit: Limit::Most(most) };
    let image = (&images("lz4hc, 64 KiB").0, lith_fuse("--cache 128M"));
    let entry = reads_by("lith, FUSE, --cache 128M", "lz4hc, 64 KiB", image, &reading);
    entries.push(Entry { targets: vec![target], ..entry });
    Suite {
        name: "seq",
        title: "One large file, read straight on",
        about: "The same image is served by lith, by other servers and by the kernel, each started anew with cold caches.",
        tables: vec![table("file", "Sequential reads", &corpora.text, entries)],
    }
}

pub(super) fn tar(corpora: &Names) -> Suite {
    let least: Least = &[
        (series::LITH_KERNEL, 1.0 / 1.2),
        (series::EROFSFUSE, 1.7),
        (series::SQUASHFUSE_LL, 2.0),
        (series::DWARFS, 2.0),
    ];
    let tables = corpora.trees.iter().map(|tree| {
        let mut entries = everybody("lz4hc, 64 KiB, fragments", &TAR, least);
        entries.extend(everybody("zstd, 64 KiB, fragments", &TAR, least));
        entries.push(reads(series::DWARFS, "-l7", &dwarfs(), &TAR));
        table(&format!("tree-{tree}"), &format!("All of {tree} by tar"), tree, entries)
    });
    Suite {
        name: "tar",
        title: "A whole tree, read in order",
        about: "tar reads a mounted tree; images have fragments.",
        tables: tables.collect(),
    }
}

/// One large file, 4 KiB here and there.
pub(super) fn random(corpora: &Names) -> Suite {
    let lengths = [("short", "64 MiB", 16_384), ("long", "512 MiB", 131_072)];
    let tables = lengths.map(|(name, amount, most)| {
        let pattern = Pattern { order: Order::Random, piece: 4096, most: Some(most), threads: 4 };
        let reading = Reading::File(pattern);
        let high: Least =
            &[(series::LITH_KERNEL, 0.9), (series::EROFSFUSE, 2.0), (series::SQUASHFUSE_LL, 3.0)];
        let zstd: Least =
            &[(series::LITH_KERNEL, 0.8), (series::EROFSFUSE, 8.0), (series::SQUASHFUSE_LL, 5.0)];
        let mut entries = everybody("lz4hc, 64 KiB", &reading, high);
        entries.extend(everybody("zstd, 64 KiB", &reading, zstd));
        table(name, &format!("{amount} at random"), &corpora.text, entries)
    });
    Suite {
        name: "random",
        title: "One large file, read at random",
        about: "Four threads read 4 KiB at a time.",
        tables: tables.into(),
    }
}

pub(super) fn metadata(corpora: &Names) -> Suite {
    let readings = [
        ("find", r#"find "$FOLDER" >/dev/null"#, List::None),
        ("list", r#"ls -lR "$FOLDER" >/dev/null"#, List::None),
        ("stat", r#"cd "$FOLDER" && xargs -0 stat <"$LIST" >/dev/null"#, List::All),
    ];
    let least: Least =
        &[(series::EROFSFUSE, 1.0), (series::SQUASHFUSE_LL, 1.0), (series::SQUASHFUSE, 1.0)];
    let mut trees = vec![&corpora.many];
    trees.extend(corpora.trees.first().filter(|tree| **tree != corpora.many));
    let tables = trees.into_iter().flat_map(|tree| {
        readings.map(|(name, command, list)| {
            let reading = Reading::Shell { command, list, reads_all: false, is_warm: false };
            let entries = everybody("lz4, 64 KiB", &reading, least);
            let table =
                table(&format!("{name}-{tree}"), &format!("{name} of {tree}"), tree, entries);
            Table { shown: METADATA, ..table }
        })
    });
    Suite {
        name: "metadata",
        title: "Names and attributes",
        about: "Directories in order, and attributes of every path in random order.",
        tables: tables.collect(),
    }
}

/// Bytes fetched in relation to bytes requested.
pub(super) fn amplification(corpora: &Names) -> Suite {
    let orders = [
        ("sequential", Order::Sequential),
        ("random", Order::Random),
        ("stride", Order::Stride(128 << 10)),
    ];
    let tables = orders.map(|(name, order)| {
        let pattern = Pattern { order, piece: 4096, most: Some(4096), threads: 1 };
        let mut entries = everybody("lz4, 4 KiB", &Reading::File(pattern), &[]);
        let most =
            Target { metric: Metric::Amplification, relative: false, limit: Limit::Most(1.7) };
        for entry in entries.iter_mut().filter(|entry| entry.series == series::LITH_FUSE) {
            entry.targets = if order == Order::Sequential { Vec::new() } else { vec![most] };
        }
        let table = table(name, &format!("4096 reads of 4 KiB, {name}"), &corpora.text, entries);
        Table { shown: AMPLIFIED, plot: Some(Plot::Bars(Metric::Amplification)), ..table }
    });
    Suite {
        name: "amplification",
        title: "Bytes fetched for each byte requested",
        about: "Bytes that the device below the image delivers, read-ahead of the page cache included.",
        tables: tables.into(),
    }
}

/// Each way to decode, which must not beat lith's own choice.
pub(super) fn ways(corpora: &Names) -> Suite {
    let patterns = [
        (
            "sequential",
            Pattern { order: Order::Sequential, piece: 1 << 20, most: None, threads: 1 },
        ),
        ("random", Pattern { order: Order::Random, piece: 4096, most: Some(16_384), threads: 4 }),
    ];
    let tables = patterns.map(|(name, pattern)| {
        let reading = Reading::File(pattern);
        let entries = ["lz4, 4 KiB", "lz4hc, 64 KiB", "zstd, 64 KiB"].iter().flat_map(|kind| {
            let (image, _) = images(kind);
            let own = reads(series::LITH_FUSE, kind, &image, &reading);
            let forced = WAYS.map(|(series, way)| Entry {
                against: Some(series::LITH_FUSE),
                targets: vec![at_least(Metric::Wall, 0.95)],
                ..reads_by(series, kind, (&image, lith_fuse(way)), &reading)
            });
            [own].into_iter().chain(forced)
        });
        table(name, &format!("The ways to decode, {name} reads"), &corpora.text, entries.collect())
    });
    Suite {
        name: "ways",
        title: "The ways to decode",
        about: "By default lith must choose the fastest one.",
        tables: tables.into(),
    }
}
