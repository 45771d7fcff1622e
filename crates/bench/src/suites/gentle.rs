//! Defines a gentle comparison: one tree as a tarball, as `SquashFS` and as EROFS, with each algorithm that they share.

use super::shared::{
    KERNEL_EROFS, KERNEL_SQUASHFS, TAR, builds, lith, mkfs, reads_by, runs, series, squashfs, table,
};
use crate::{
    corpus::Names,
    image::Recipe,
    results::Metric,
    suite::{Entry, Suite, Table},
};

const BUILT: &[Metric] = &[Metric::Size, Metric::RelativeSize, Metric::Wall, Metric::Cpu];
const READ: &[Metric] =
    &[Metric::Rate, Metric::Wall, Metric::MachineCpu, Metric::Fetched, Metric::RelativeSize];

const SQUASHFS_SMALL: &str = "SquashFS, 4 KiB";
const SQUASHFS_LARGE: &str = "SquashFS, 128 KiB";
const MKFS_LARGE: &str = "mkfs.erofs, 64 KiB";
const LITH_LARGE: &str = "lith, 64 KiB";
const LITH_SMALL: &str = "lith, 4 KiB";

/// An algorithm with its option for each program.
struct Algorithm {
    name: &'static str,
    pack: &'static str,
    unpack: &'static str,
    squashfs: &'static str,
    erofs: &'static str,
}

const ALGORITHMS: [Algorithm; 6] = [
    algorithm("none", ["cat", "cat", "-noD -noI -noX -noF", ""]),
    algorithm("LZ4", ["lz4", "lz4 -d", "-comp lz4", "lz4"]),
    algorithm("LZ4HC", ["lz4 -12", "lz4 -d", "-comp lz4 -Xhc", "lz4hc,12"]),
    algorithm("DEFLATE", ["gzip -9", "gzip -d", "-comp gzip", "deflate,9"]),
    algorithm("zstd", ["zstd -9 -T0", "zstd -d", "-comp zstd -Xcompression-level 9", "zstd,9"]),
    algorithm("XZ", ["xz -6 -T0", "xz -d", "-comp xz", "lzma,6"]),
];

const fn algorithm(
    name: &'static str,
    [pack, unpack, squashfs, erofs]: [&'static str; 4],
) -> Algorithm {
    Algorithm { name, pack, unpack, squashfs, erofs }
}

pub(super) fn suite(corpora: &Names) -> Suite {
    let trees = corpora.trees.iter();
    Suite {
        name: "gentle",
        title: "Tarball, SquashFS and EROFS, algorithm by algorithm",
        about: "One tree without compression, with LZ4, LZ4HC, DEFLATE, zstd and XZ (LZMA): as a tarball, as SquashFS \
                with blocks of 128 KiB and 4 KiB, and as EROFS; then all of it read in order. A tarball is read by \
                decompressing it, everything else by tar on the kernel's mount.",
        tables: trees.flat_map(|tree| [sizes(tree), speeds(tree)]).collect(),
    }
}

impl Algorithm {
    /// All that make a file of the tree, by series.
    fn recipes(&self) -> Vec<(&'static str, Recipe)> {
        let tarball = format!("sh -c tar -C \"$SOURCE\" -cf - . | {} >\"$IMAGE\"", self.pack);
        let squash = |size: u32| squashfs(&format!("{} -b {size}", self.squashfs));
        let ours = |size: u32| match self.erofs {
            "" => lith("-z none"),
            name => lith(&format!("--kernel 6.12 -z {name} -C {size} -E fragments")),
        };
        let theirs = match self.erofs {
            "" => mkfs(""),
            name => mkfs(&format!("-z{name} -C65536 -Efragments")),
        };
        vec![
            (series::TAR, Recipe::Command(tarball)),
            (SQUASHFS_LARGE, squash(131_072)),
            (SQUASHFS_SMALL, squash(4096)),
            (MKFS_LARGE, theirs),
            (LITH_LARGE, ours(65_536)),
            (LITH_SMALL, ours(4096)),
        ]
    }

    fn built(&self) -> impl Iterator<Item = Entry> {
        self.recipes().into_iter().map(|(series, recipe)| Entry {
            against: beside(series),
            ..builds(series, self.name, &recipe)
        })
    }

    fn read(&self) -> impl Iterator<Item = Entry> {
        self.recipes().into_iter().map(|(series, image)| {
            let mount = match series {
                SQUASHFS_LARGE | SQUASHFS_SMALL => KERNEL_SQUASHFS,
                _ => KERNEL_EROFS,
            };
            let unpack = format!("sh -c {} <\"$IMAGE\" | tar -xOf - >/dev/null", self.unpack);
            let entry = match series {
                series::TAR => runs(series, self.name, &image, &unpack),
                _ => reads_by(series, self.name, (&image, mount), &TAR),
            };
            Entry { against: beside(series), ..entry }
        })
    }
}

/// All are compared with lith's larger clusters.
fn beside(series: &str) -> Option<&'static str> {
    (series != LITH_LARGE).then_some(LITH_LARGE)
}

fn sizes(tree: &str) -> Table {
    let (name, title) = (format!("sizes-{tree}"), format!("Sizes of {tree}"));
    let entries = ALGORITHMS.iter().flat_map(Algorithm::built);
    table(&name, &title, tree, (BUILT, Metric::RelativeSize), entries)
}

fn speeds(tree: &str) -> Table {
    let (name, title) = (format!("speeds-{tree}"), format!("Reading all of {tree}"));
    table(&name, &title, tree, (READ, Metric::Rate), ALGORITHMS.iter().flat_map(Algorithm::read))
}
