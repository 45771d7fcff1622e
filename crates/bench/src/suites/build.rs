//! Defines suites that build images: time and size.

use super::shared::{self, at_most, builds, dwarfs, lith, mkfs, series, squashfs};
use crate::{
    corpus::Names,
    image::Recipe,
    reading::size_text,
    results::{Metric, Plot, Target},
    suite::{Entry, Suite, Table},
};

const SHOWN: &[Metric] = &[Metric::Wall, Metric::Cpu, Metric::PeakMemory, Metric::Size];

/// lith beside one rival: a description, both recipes, and limits for lith.
fn pair(
    kind: &str,
    ours: &Recipe,
    (name, rival): (&'static str, &Recipe),
    targets: Vec<Target>,
) -> [Entry; 2] {
    let ours = Entry { against: Some(name), targets, ..builds(series::LITH, kind, ours) };
    [ours, builds(name, kind, rival)]
}

fn table(name: &str, corpus: &str, pairs: impl IntoIterator<Item = [Entry; 2]>) -> Table {
    let (name, title) = (format!("{name}-{corpus}"), format!("Building {corpus}"));
    let entries = pairs.into_iter().flatten();
    shared::table(&name, &title, corpus, (SHOWN, Metric::Wall), entries)
}

const fn wall(limit: f64) -> Target {
    at_most(Metric::Wall, limit)
}

const fn cpu(limit: f64) -> Target {
    at_most(Metric::Cpu, limit)
}

const fn size(limit: f64) -> Target {
    at_most(Metric::Size, limit)
}

/// The same options, without packing.
pub(super) fn build(corpora: &Names) -> Suite {
    let mut tables: Vec<_> = corpora.trees.iter().map(|tree| plain(tree)).collect();
    let file = of_algorithm("lz4hc,12", 65_536, vec![wall(0.6)]);
    tables.push(table("file", &corpora.mixed, [file]));
    Suite {
        name: "build",
        title: "Builds with the same options",
        about: "lith and mkfs.erofs make the same images with as many workers as there are processors. lith reads each \
                back and compares it, unless that is switched off.",
        tables,
    }
}

fn plain(tree: &str) -> Table {
    let rival = (series::MKFS, &mkfs(""));
    let uncompressed = pair("uncompressed", &lith("-z none"), rival, vec![wall(0.9)]);
    let lz4 = [4 << 10, 64 << 10].map(|size| of_algorithm("lz4", size, vec![wall(0.9)]));
    let high = [4 << 10, 16 << 10, 64 << 10, 128 << 10]
        .map(|bytes| of_algorithm("lz4hc,12", bytes, vec![wall(0.9), cpu(0.9), size(1.0)]));
    let mut table = table("tree", tree, [uncompressed].into_iter().chain(lz4).chain(high));
    let unverified = [
        ("uncompressed", "-z none"),
        ("lz4, 4 KiB", "-z lz4 -C 4096"),
        ("lz4, 64 KiB", "-z lz4 -C 65536"),
    ];
    table.entries.extend(unverified.map(|(kind, options)| Entry {
        against: Some(series::MKFS),
        ..builds(series::LITH_UNVERIFIED, kind, &lith(&format!("--no-verify {options}")))
    }));
    table
}

fn of_algorithm(algorithm: &str, pcluster: u32, targets: Vec<Target>) -> [Entry; 2] {
    let kind = format!("{algorithm}, {}", size_text(pcluster));
    let ours = lith(&format!("--kernel 6.12 -z {algorithm} -C {pcluster}"));
    let rival = mkfs(&format!("-z{algorithm} -C{pcluster}"));
    pair(&kind, &ours, (series::MKFS, &rival), targets)
}

/// One file, of which a rival may compress all on one core.
pub(super) fn large(corpora: &Names) -> Suite {
    let pairs = [
        of_algorithm("zstd,3", 65_536, vec![wall(0.1), cpu(0.15), size(1.0)]),
        of_algorithm("lz4hc,9", 65_536, vec![wall(0.5), cpu(0.9), size(1.0)]),
    ];
    Suite {
        name: "large",
        title: "Building one large file",
        about: "A file of more than a gigabyte, which lith compresses on all processors.",
        tables: vec![table("file", &corpora.large, pairs)],
    }
}

/// Files that share pclusters in the packed inode, and pclusters that are stored once.
pub(super) fn pack(corpora: &Names) -> Suite {
    let tables = corpora.trees.iter().enumerate().map(|(at, tree)| {
        let zstd_size = if at == 0 { 0.98 } else { 1.0 };
        let zstd = [3, 9, 15, 19].map(|level| {
            let targets = vec![wall(0.15), cpu(0.15), size(zstd_size)];
            packed(&format!("zstd,{level}"), "fragments", targets)
        });
        let dedupe = || vec![wall(0.35), size(0.95)];
        let more = [
            packed("lz4hc,12", "fragments", vec![wall(0.65), cpu(0.65), size(0.97)]),
            packed("libdeflate,9", "fragments", vec![wall(0.2), cpu(0.2), size(1.0)]),
            packed("lzma,6", "fragments", vec![wall(0.75), cpu(0.75), size(1.0)]),
            packed("lz4hc,12", "fragments,dedupe", dedupe()),
            packed("lz4hc,12", "all-fragments,dedupe,ztailpacking", dedupe()),
        ];
        // The whole list is for the first tree alone.
        let more = more.into_iter().filter(|_| at == 0);
        table("tree", tree, zstd.into_iter().chain(more))
    });
    Suite {
        name: "pack",
        title: "Builds with fragments and dedupe",
        about: "The ends of files, or all of small ones, share pclusters of 64 KiB; with dedupe what repeats is stored once.",
        tables: tables.collect(),
    }
}

fn packed(algorithm: &str, words: &str, targets: Vec<Target>) -> [Entry; 2] {
    let kind = format!("{algorithm}, {}", words.replace(',', " and "));
    let ours = lith(&format!("--kernel 6.12 -z {algorithm} -C 65536 -E {words}"));
    let rival = mkfs(&format!("-z{algorithm} -C65536 -E{words}"));
    pair(&kind, &ours, (series::MKFS, &rival), targets)
}

/// The smallest that each can make.
pub(super) fn smallest(corpora: &Names) -> Suite {
    let ours = lith("--preset smallest --kernel 6.18");
    let rival = mkfs("-zlzma,9 -C1048576 -Eall-fragments,dedupe -m4096:lzma");
    let tables = corpora.trees.iter().map(|tree| {
        let targets = vec![wall(0.4), size(0.95)];
        let pair = pair("the smallest", &ours, (series::MKFS, &rival), targets);
        let mut table = table("tree", tree, [pair]);
        table.entries.push(builds(series::DWARFS, "-l7", &dwarfs()));
        Table { plot: Some(Plot::Bars(Metric::Size)), ..table }
    });
    Suite {
        name: "smallest",
        title: "The smallest images",
        about: "Whatever it takes to build and to read.",
        tables: tables.collect(),
    }
}

/// Beside `SquashFS`, whose blocks are of uncompressed bytes.
pub(super) fn squash(corpora: &Names) -> Suite {
    let kinds = [
        ("preset small, xz 1 MiB", "--preset small", "-comp xz -b 1048576"),
        (
            "zstd,15, 128 KiB, fragments",
            "--kernel 6.12 -z zstd,15 -C 131072 -E fragments",
            "-comp zstd -Xcompression-level 15 -b 131072",
        ),
    ];
    let pairs = kinds.map(|(kind, ours, theirs)| {
        let rival = (series::SQUASHFS, &squashfs(theirs));
        pair(kind, &lith(ours), rival, vec![wall(1.0), size(1.0)])
    });
    Suite {
        name: "squash",
        title: "Builds beside mksquashfs",
        about: "What people make with SquashFS, and what they would make with lith instead.",
        tables: corpora.trees.first().map(|tree| table("tree", tree, pairs)).into_iter().collect(),
    }
}
