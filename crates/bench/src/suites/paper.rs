//! Defines the suites that repeat the measurements of the paper on EROFS, USENIX ATC 2019.

use super::shared::{
    KERNEL_EROFS, Kind, WAYS, dwarfs, lith, lith_fuse, mkfs, read_writable, reads, reads_by,
    series, squashfs, table,
};
use crate::{
    corpus::Names,
    reading::{Order, Pattern, Reading, size_text},
    results::{Metric, Plot},
    suite::{Suite, Table},
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
const DECODED: &[Metric] = &[Metric::Rate, Metric::ServerCpu, Metric::PeakMemory];

/// Algorithms, with a series for each way to mount.
const SAVERS: [(&str, &str, &str); 5] = [
    ("lz4", "lith, kernel, lz4", "lith, FUSE, lz4"),
    ("lz4hc,12", "lith, kernel, lz4hc", "lith, FUSE, lz4hc"),
    ("deflate,9", "lith, kernel, DEFLATE", "lith, FUSE, DEFLATE"),
    ("zstd,9", "lith, kernel, zstd", "lith, FUSE, zstd"),
    ("lzma,6", "lith, kernel, LZMA", "lith, FUSE, LZMA"),
];

/// The paper reads pieces of 4 KiB; no more than 64 MiB of them where each costs a whole block.
const PATTERNS: [(&str, &str, Order, Option<usize>); 3] = [
    ("sequential", "Sequential reads", Order::Sequential, None),
    ("random", "Random reads", Order::Random, Some(16_384)),
    ("stride", "Stride reads", Order::Stride(128 << 10), None),
];

/// A name, the beginning of a headline, and how a file is read.
type What = (&'static str, &'static str, Reading);

pub(super) fn suite(corpora: &Names) -> Suite {
    let patterns = PATTERNS.map(|(name, title, order, most)| {
        (name, title, Reading::File(Pattern { order, piece: 4096, most, threads: 1 }))
    });
    let [sequential, random, _] = &patterns;
    let (text, mixed) = (&corpora.text, &corpora.mixed);
    let mut tables: Vec<_> = patterns.iter().map(|what| throughput(text, what)).collect();
    tables.extend([sizes("sizes-text", text), sizes("sizes-mixed", mixed)]);
    tables.extend([sequential, random].map(|what| saving(mixed, what)));
    tables.extend([sequential, random].map(|what| ways(text, what)));
    Suite {
        name: "paper",
        title: "The paper's measurements",
        about: "What \"EROFS: A Compression-friendly Readonly File System for Resource-scarce Devices\" (USENIX ATC \
                2019) measures, on this machine: throughput of sequential, random and stride reads of one large text \
                with the I/O issued and the memory that is gone afterwards, compressed size by cluster size, \
                throughput by space saving, and the ways to decompress. The paper's text is enwik9; a text of the same \
                size is compared instead.",
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

fn throughput(corpus: &str, (name, title, reading): &What) -> Table {
    let kinds = [4 << 10, 128 << 10].into_iter().flat_map(|size| lz4hc(size).read(reading));
    let dwarfs = reads(series::DWARFS, "-l7", &dwarfs(), reading);
    let entries = kinds.chain(read_writable(reading)).chain([dwarfs]);
    let title = format!("{title}: throughput, I/O and memory");
    table(name, &title, corpus, (THROUGHPUT, Metric::Rate), entries)
}

fn sizes(name: &str, corpus: &str) -> Table {
    let title = format!("Compressed size of {corpus} by cluster size");
    let entries = SIZES.into_iter().flat_map(|size| lz4hc(size).build());
    table(name, &title, corpus, (SIZED, Metric::RelativeSize), entries)
}

/// Each algorithm with pclusters from small to large, which save more and more.
fn saving(corpus: &str, (name, title, reading): &What) -> Table {
    let mut entries = Vec::new();
    for (algorithm, kernel, fuse) in SAVERS {
        for size in [4 << 10, 16 << 10, 64 << 10, 256 << 10] {
            let image = &lith(&format!("--kernel 6.12 -z {algorithm} -C {size}"));
            for (series, mount) in [(kernel, KERNEL_EROFS), (fuse, lith_fuse(""))] {
                entries.push(reads_by(series, &size_text(size), (image, mount), reading));
            }
        }
    }
    Table {
        plot: Some(Plot::Points { x: Metric::Saving, y: Metric::Rate }),
        ..table(
            &format!("saving-{name}"),
            &format!("{title}: throughput by space saving"),
            corpus,
            (SAVED, Metric::Rate),
            entries,
        )
    }
}

/// lith's server with each way to decompress in turn.
fn ways(corpus: &str, (name, _, reading): &What) -> Table {
    let kinds =
        [("lz4hc, 4 KiB", "-z lz4hc,12 -C 4096"), ("lz4hc, 64 KiB", "-z lz4hc,12 -C 65536")];
    let entries = kinds.into_iter().flat_map(|(kind, options)| {
        let image = lith(&format!("--kernel 6.12 {options}"));
        let ways = [("lith, FUSE, own choice", "")].into_iter().chain(WAYS);
        ways.map(move |(series, way)| reads_by(series, kind, (&image, lith_fuse(way)), reading))
    });
    let (name, title) = (format!("ways-{name}"), format!("The ways to decompress, {name} reads"));
    table(&name, &title, corpus, (DECODED, Metric::Rate), entries)
}
