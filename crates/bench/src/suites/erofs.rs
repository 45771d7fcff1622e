//! Defines the suite that repeats the EROFS project's own comparison with `SquashFS`: docs/PERFORMANCE.md of erofs-utils.

use super::shared::{CAT, Kind, TAR, at_most, lith, mkfs, read_writable, series, squashfs, table};
use crate::{
    corpus::Names,
    reading::{List, Order, Pattern, Reading, size_text},
    results::Metric,
    suite::{Suite, Table},
};

const SIZES: [u32; 4] = [4 << 10, 16 << 10, 64 << 10, 128 << 10];
const BUILT: &[Metric] = &[Metric::Size, Metric::Wall, Metric::Cpu, Metric::PeakMemory];
const READ: &[Metric] = &[
    Metric::Wall,
    Metric::Cpu,
    Metric::ServerCpu,
    Metric::MachineCpu,
    Metric::Fetched,
    Metric::Requests,
];
const FILE: &[Metric] =
    &[Metric::Rate, Metric::Wall, Metric::Fetched, Metric::Requests, Metric::PeakMemory];

// The commands of the original.
const METADATA: &str = r#"tar -C "$FOLDER" -cf /dev/null ."#;
const STAT: &str = r#"cd "$FOLDER" && xargs -0 stat <"$LIST" >/dev/null"#;
const ALL: List = List::Files(usize::MAX);

/// How a tree is read by a command with paths: a name and a headline.
const TREE: [(&str, &str, &str, List); 5] = [
    ("sequential-metadata", "Sequential metadata: all inodes by tar", METADATA, List::None),
    ("random-data-500", "Small random data: 500 files", CAT, List::Files(500)),
    ("random-metadata-500", "Small random metadata: 500 inodes", STAT, List::Files(500)),
    ("random-data", "Full random data: all files", CAT, ALL),
    ("random-metadata", "Full random metadata: all inodes of files", STAT, ALL),
];

pub(super) fn suite(corpora: &Names) -> Suite {
    let mut tables: Vec<_> = corpora.trees.iter().map(|tree| sizes_of_tree(tree)).collect();
    if let Some(tree) = corpora.trees.first() {
        tables.push(read_tree(tree, "sequential-data", "Sequential data: all files by tar", &TAR));
        tables.extend(TREE.map(|(name, title, command, list)| {
            let reading = Reading::Shell { command, list, reads_all: false, is_warm: false };
            read_tree(tree, name, title, &reading)
        }));
    }
    let kinds = SIZES.map(|size| lz4hc(size, false));
    tables.push(sizes("file", "one large file", &corpora.mixed, &kinds));
    let pattern = |order, most| Pattern { order, piece: 4096, most, threads: 1 };
    let patterns = [
        ("file-sequential", "One large file, sequential", pattern(Order::Sequential, None)),
        ("file-random", "One large file, full random", pattern(Order::Random, None)),
        // 10 MiB, as in the original.
        ("file-small-random", "One large file, small random", pattern(Order::Random, Some(2560))),
    ];
    tables.extend(patterns.map(|what| read_file(&corpora.mixed, what)));
    Suite {
        name: "erofs",
        title: "The EROFS project's comparison with SquashFS",
        about: "What docs/PERFORMANCE.md of erofs-utils shows: the root filesystem of a Debian image at four cluster \
                sizes, read in order and at random, data and metadata, and one large file read 4 KiB at a time. Images \
                have the options of the original; lith's are verified while they are built.",
        tables,
    }
}

fn uncompressed() -> Kind {
    Kind {
        name: "uncompressed".into(),
        lith: lith("-z none"),
        mkfs: mkfs(""),
        squashfs: squashfs("-noD -noI -noX -noF -no-xattrs -all-time 0 -no-duplicates"),
    }
}

fn lz4hc(size: u32, fragments: bool) -> Kind {
    let (ours, theirs) = if fragments { (" -E fragments", " -Efragments") } else { ("", "") };
    Kind {
        name: format!("lz4hc,12, {}", size_text(size)),
        lith: lith(&format!("--kernel 6.12 -z lz4hc,12 -C {size}{ours}")),
        mkfs: mkfs(&format!("-zlz4hc,12 -C{size}{theirs}")),
        squashfs: squashfs(&format!("-b {size} -comp lz4 -Xhc -no-xattrs -all-time 0")),
    }
}

fn sizes(name: &str, what: &str, corpus: &str, kinds: &[Kind]) -> Table {
    let mut entries: Vec<_> = kinds.iter().flat_map(Kind::build).collect();
    // lith's own rows are held to be no larger than those of mkfs.erofs.
    for entry in entries.iter_mut().filter(|entry| entry.series == series::LITH) {
        entry.against = Some(series::MKFS);
        entry.targets = vec![at_most(Metric::Size, 1.0)];
    }
    let (name, title) = (format!("sizes-{name}"), format!("Image sizes of {what}"));
    table(&name, &title, corpus, (BUILT, Metric::Size), entries)
}

fn sizes_of_tree(tree: &str) -> Table {
    let mut kinds = vec![uncompressed()];
    kinds.extend(SIZES.map(|size| lz4hc(size, true)));
    sizes(tree, tree, tree, &kinds)
}

fn read_tree(tree: &str, name: &str, title: &str, reading: &Reading) -> Table {
    let kinds = [uncompressed(), lz4hc(4 << 10, true), lz4hc(128 << 10, true)];
    let entries = kinds.iter().flat_map(|kind| kind.read(reading));
    table(name, title, tree, (READ, Metric::Wall), entries.chain(read_writable(reading)))
}

fn read_file(corpus: &str, (name, title, pattern): (&str, &str, Pattern)) -> Table {
    let reading = Reading::File(pattern);
    let entries = SIZES.into_iter().flat_map(|size| lz4hc(size, false).read(&reading));
    table(name, title, corpus, (FILE, Metric::Rate), entries)
}
