//! Defines the suites that repeat the measurements of the paper on EROFS, USENIX ATC 2019.

use super::{
    KERNEL_EROFS, Kind, lith, lith_fuse, mkfs, reads, series, server, size_text, squashfs, writable,
};
use crate::{
    corpus::Names,
    reading::{Order, Pattern, Reading},
    results::{Metric, Plot},
    suite::{Entry, Suite, Table},
};

const SIZES: [u32; 4] = [4 << 10, 16 << 10, 64 << 10, 128 << 10];
const THROUGHPUT: &[Metric] = &[
    Metric::Rate,
    Metric::Fetched,
    Metric::Amplification,
    Metric::Requests,
    Metric::KernelMemory,
    Metric::PeakMemory,
    Metric::MachineCpu,
];
const SIZED: &[Metric] = &[Metric::Size, Metric::RelativeSize, Metric::Wall];
const SAVED: &[Metric] = &[Metric::Saving, Metric::Rate, Metric::MachineCpu];
const WAYS: &[Metric] = &[Metric::Rate, Metric::ServerCpu, Metric::PeakMemory];

/// Pieces of 4 KiB, as the paper reads; no more than 64 MiB of them where each costs a whole block.
const PATTERNS: [(&str, &str, Pattern); 3] = [
    (
        "sequential",
        "Sequential reads: throughput, I/O and memory",
        Pattern { order: Order::Sequential, piece: 4096, most: None, threads: 1 },
    ),
    (
        "random",
        "Random reads: throughput, I/O and memory",
        Pattern { order: Order::Random, piece: 4096, most: Some(16_384), threads: 1 },
    ),
    (
        "stride",
        "Stride reads: throughput, I/O and memory",
        Pattern { order: Order::Stride(128 << 10), piece: 4096, most: None, threads: 1 },
    ),
];

pub(super) fn suite(corpora: &Names) -> Suite {
    let mut tables = Vec::from(PATTERNS.map(|what| throughput(&corpora.text, what)));
    tables.push(sizes("sizes-text", &corpora.text));
    tables.push(sizes("sizes-mixed", &corpora.mixed));
    for (name, title, pattern) in PATTERNS.iter().take(2) {
        tables.push(saving(&corpora.mixed, (name, title, *pattern)));
    }
    for (name, _, pattern) in PATTERNS.iter().take(2) {
        tables.push(ways(&corpora.text, name, *pattern));
    }
    Suite {
        name: "paper",
        title: "The paper's measurements",
        about: "What \"EROFS: A Compression-friendly Readonly File System for Resource-scarce Devices\" (USENIX ATC \
                2019) measures, on this machine: throughput of sequential, random and stride reads of one large text \
                with the I/O issued and the memory that is gone afterwards, compressed size by cluster size, \
                throughput by space saving, and the ways to decompress. The paper's text is enwik9; a text of the same \
                size stands for it.",
        tables,
    }
}

fn lz4hc(size: u32) -> Kind {
    Kind {
        name: format!("lz4hc, {}", size_text(size)),
        lith: lith(&format!("--kernel 6.12 -z lz4hc,12 -C {size}")),
        mkfs: mkfs(&format!("-zlz4hc,12 -C{size}")),
        squashfs: squashfs(&format!("-b {size} -comp lz4 -Xhc")),
    }
}

fn throughput(corpus: &str, (name, title, pattern): (&str, &str, Pattern)) -> Table {
    let reading = Reading::File(pattern);
    let mut entries = lz4hc(4 << 10).read(&reading);
    entries.extend(lz4hc(128 << 10).read(&reading));
    entries.extend(writable(&reading));
    let dwarfs = (super::dwarfs(), server("dwarfs IMAGE MOUNT -f"));
    entries.push(reads(series::DWARFS, "-l7", dwarfs, &reading));
    Table {
        name: name.into(),
        title: title.into(),
        corpus: corpus.into(),
        shown: THROUGHPUT,
        plot: Some(Plot::Bars(Metric::Rate)),
        entries,
    }
}

fn sizes(name: &str, corpus: &str) -> Table {
    Table {
        name: name.into(),
        title: format!("Compressed size of {corpus} by cluster size"),
        corpus: corpus.into(),
        shown: SIZED,
        plot: Some(Plot::Bars(Metric::RelativeSize)),
        entries: SIZES.iter().flat_map(|size| lz4hc(*size).build()).collect(),
    }
}

/// Each algorithm with pclusters from small to large, which save more and more.
fn saving(corpus: &str, (name, title, pattern): (&str, &str, Pattern)) -> Table {
    let reading = Reading::File(pattern);
    let mut entries = Vec::new();
    for algorithm in ["lz4", "lz4hc,12", "deflate,9", "zstd,9", "lzma,6"] {
        for size in [4 << 10, 16 << 10, 64 << 10, 256 << 10_u32] {
            let image = lith(&format!("--kernel 6.12 -z {algorithm} -C {size}"));
            let (name, _) = algorithm.split_once(',').unwrap_or((algorithm, ""));
            for (prefix, mount) in [("kernel", KERNEL_EROFS), ("FUSE", lith_fuse(""))] {
                entries.push(Entry {
                    series: algorithm_series(prefix, name),
                    ..reads("", &size_text(size), (image.clone(), mount), &reading)
                });
            }
        }
    }
    let title = title.split_once(':').map_or(title, |(first, _)| first);
    Table {
        name: format!("saving-{name}"),
        title: format!("{title}: throughput by space saving"),
        corpus: corpus.into(),
        shown: SAVED,
        plot: Some(Plot::Points { x: Metric::Saving, y: Metric::Rate }),
        entries,
    }
}

/// A series for each algorithm and way to mount.
fn algorithm_series(mount: &str, algorithm: &str) -> &'static str {
    match (mount, algorithm) {
        ("kernel", "lz4") => "lith, kernel, lz4",
        ("kernel", "lz4hc") => "lith, kernel, lz4hc",
        ("kernel", "deflate") => "lith, kernel, DEFLATE",
        ("kernel", "zstd") => "lith, kernel, zstd",
        ("kernel", _) => "lith, kernel, LZMA",
        (_, "lz4") => "lith, FUSE, lz4",
        (_, "lz4hc") => "lith, FUSE, lz4hc",
        (_, "deflate") => "lith, FUSE, DEFLATE",
        (_, "zstd") => "lith, FUSE, zstd",
        _ => "lith, FUSE, LZMA",
    }
}

/// lith's server with each way to decompress in turn.
fn ways(corpus: &str, name: &str, pattern: Pattern) -> Table {
    let reading = Reading::File(pattern);
    let ways = [
        ("lith, FUSE, own choice", ""),
        ("lith, FUSE, direct", "--decode direct"),
        ("lith, FUSE, buffered", "--decode buffered"),
        ("lith, FUSE, rolling", "--decode rolling"),
        ("lith, FUSE, in place", "--decode in-place"),
    ];
    let kinds =
        [("lz4hc, 4 KiB", "-z lz4hc,12 -C 4096"), ("lz4hc, 64 KiB", "-z lz4hc,12 -C 65536")];
    let entries = kinds.iter().flat_map(|(kind, options)| {
        let image = lith(&format!("--kernel 6.12 {options}"));
        let reading = &reading;
        ways.iter()
            .map(move |(series, way)| reads(series, kind, (image.clone(), lith_fuse(way)), reading))
    });
    Table {
        name: format!("ways-{name}"),
        title: format!("The ways to decompress, {name} reads"),
        corpus: corpus.into(),
        shown: WAYS,
        plot: Some(Plot::Bars(Metric::Rate)),
        entries: entries.collect(),
    }
}
