//! Defines the suite that repeats the EROFS project's own comparison with `SquashFS`: docs/PERFORMANCE.md of erofs-utils.

use super::{Kind, at_most, lith, mkfs, size_text, squashfs, writable};
use crate::{
    corpus::Names,
    reading::{List, Order, Pattern, Reading},
    results::{Metric, Plot},
    suite::{Entry, Suite, Table},
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

/// What is done with a tree: a name, a headline, the command of the original and its paths.
const TREE: [(&str, &str, &str, List); 6] = [
    (
        "sequential-data",
        "Sequential data: all files by tar",
        r#"tar -C "$FOLDER" -cf - . | cat >/dev/null"#,
        List::None,
    ),
    (
        "sequential-metadata",
        "Sequential metadata: all inodes by tar",
        r#"tar -C "$FOLDER" -cf /dev/null ."#,
        List::None,
    ),
    (
        "random-data-500",
        "Small random data: 500 files",
        r#"cd "$FOLDER" && xargs -0 cat <"$LIST" >/dev/null"#,
        List::Files(500),
    ),
    (
        "random-metadata-500",
        "Small random metadata: 500 inodes",
        r#"cd "$FOLDER" && xargs -0 stat <"$LIST" >/dev/null"#,
        List::Files(500),
    ),
    (
        "random-data",
        "Full random data: all files",
        r#"cd "$FOLDER" && xargs -0 cat <"$LIST" >/dev/null"#,
        List::Files(usize::MAX),
    ),
    (
        "random-metadata",
        "Full random metadata: all inodes of files",
        r#"cd "$FOLDER" && xargs -0 stat <"$LIST" >/dev/null"#,
        List::Files(usize::MAX),
    ),
];

pub(super) fn suite(corpora: &Names) -> Suite {
    let mut tables: Vec<_> = corpora.trees.iter().map(|tree| sizes_of_tree(tree)).collect();
    if let Some(tree) = corpora.trees.first() {
        tables.extend(TREE.map(|what| read_tree(tree, what)));
    }
    tables.push(sizes_of_file(&corpora.mixed));
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

fn build(kinds: impl Iterator<Item = Kind>) -> Vec<Entry> {
    let mut entries: Vec<_> = kinds.flat_map(|kind| kind.build()).collect();
    // lith's own rows are held to be no larger than those of mkfs.erofs.
    for entry in entries.iter_mut().filter(|entry| entry.series == super::series::LITH) {
        entry.against = Some(super::series::MKFS);
        entry.targets = vec![at_most(Metric::Size, 1.0)];
    }
    entries
}

fn sizes_of_tree(tree: &str) -> Table {
    let kinds = [uncompressed()].into_iter().chain(SIZES.map(|size| lz4hc(size, true)));
    Table {
        name: format!("sizes-{tree}"),
        title: format!("Image sizes of {tree}"),
        corpus: tree.into(),
        shown: BUILT,
        plot: Some(Plot::Bars(Metric::Size)),
        entries: build(kinds),
    }
}

fn sizes_of_file(corpus: &str) -> Table {
    Table {
        name: "sizes-file".into(),
        title: "Image sizes of one large file".into(),
        corpus: corpus.into(),
        shown: BUILT,
        plot: Some(Plot::Bars(Metric::Size)),
        entries: build(SIZES.map(|size| lz4hc(size, false)).into_iter()),
    }
}

fn read_tree(tree: &str, (name, title, command, list): (&str, &str, &'static str, List)) -> Table {
    let reading =
        Reading::Shell { command, list, reads_all: name == "sequential-data", is_warm: false };
    let kinds = [uncompressed(), lz4hc(4 << 10, true), lz4hc(128 << 10, true)];
    let mut entries: Vec<_> = kinds.iter().flat_map(|kind| kind.read(&reading)).collect();
    entries.extend(writable(&reading));
    Table {
        name: name.into(),
        title: title.into(),
        corpus: tree.into(),
        shown: READ,
        plot: Some(Plot::Bars(Metric::Wall)),
        entries,
    }
}

fn read_file(corpus: &str, (name, title, pattern): (&str, &str, Pattern)) -> Table {
    let reading = Reading::File(pattern);
    Table {
        name: name.into(),
        title: title.into(),
        corpus: corpus.into(),
        shown: FILE,
        plot: Some(Plot::Bars(Metric::Rate)),
        entries: SIZES.iter().flat_map(|size| lz4hc(*size, false).read(&reading)).collect(),
    }
}
