//! Defines a gentle comparison: one tree as a tarball, as `SquashFS` and as EROFS, with each algorithm that they share.

use super::{KERNEL_EROFS, KERNEL_SQUASHFS, builds, lith, mkfs, reads, series, squashfs};
use crate::{
    corpus::Names,
    image::Recipe,
    reading::{List, Reading},
    results::{Metric, Plot},
    suite::{Entry, Suite, Table, Task},
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
    Algorithm {
        name: "none",
        pack: "cat",
        unpack: "cat",
        squashfs: "-noD -noI -noX -noF",
        erofs: "",
    },
    Algorithm { name: "LZ4", pack: "lz4", unpack: "lz4 -d", squashfs: "-comp lz4", erofs: "lz4" },
    Algorithm {
        name: "LZ4HC",
        pack: "lz4 -12",
        unpack: "lz4 -d",
        squashfs: "-comp lz4 -Xhc",
        erofs: "lz4hc,12",
    },
    Algorithm {
        name: "DEFLATE",
        pack: "gzip -9",
        unpack: "gzip -d",
        squashfs: "-comp gzip",
        erofs: "deflate,9",
    },
    Algorithm {
        name: "zstd",
        pack: "zstd -9 -T0",
        unpack: "zstd -d",
        squashfs: "-comp zstd -Xcompression-level 9",
        erofs: "zstd,9",
    },
    Algorithm {
        name: "XZ",
        pack: "xz -6 -T0",
        unpack: "xz -d",
        squashfs: "-comp xz",
        erofs: "lzma,6",
    },
];

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
    fn tarball(&self) -> Recipe {
        Recipe::Command(format!("sh -c tar -C \"$SOURCE\" -cf - . | {} >\"$IMAGE\"", self.pack))
    }

    /// All that make a file of the tree, by series.
    fn recipes(&self) -> Vec<(&'static str, Recipe)> {
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
            (series::TAR, self.tarball()),
            (SQUASHFS_LARGE, squash(131_072)),
            (SQUASHFS_SMALL, squash(4096)),
            (MKFS_LARGE, theirs),
            (LITH_LARGE, ours(65_536)),
            (LITH_SMALL, ours(4096)),
        ]
    }

    fn built(&self) -> Vec<Entry> {
        let entry = |(series, recipe)| Entry {
            against: beside(series),
            ..builds(series, self.name, &recipe)
        };
        self.recipes().into_iter().map(entry).collect()
    }

    fn read(&self) -> Vec<Entry> {
        let reading = Reading::Shell {
            command: r#"tar -C "$FOLDER" -cf - . | cat >/dev/null"#,
            list: List::None,
            reads_all: true,
            is_warm: false,
        };
        let entry = |(series, image): (&'static str, Recipe)| {
            let against = beside(series);
            let mount = match series {
                series::TAR => {
                    let command =
                        format!("sh -c {} <\"$IMAGE\" | tar -xOf - >/dev/null", self.unpack);
                    let task = Task::Run { image, command };
                    return Entry {
                        series,
                        variant: self.name.into(),
                        task,
                        against,
                        targets: Vec::new(),
                    };
                }
                SQUASHFS_LARGE | SQUASHFS_SMALL => KERNEL_SQUASHFS,
                _ => KERNEL_EROFS,
            };
            Entry { against, ..reads(series, self.name, (image, mount), &reading) }
        };
        self.recipes().into_iter().map(entry).collect()
    }
}

/// All are compared with lith's larger clusters.
fn beside(series: &str) -> Option<&'static str> {
    (series != LITH_LARGE).then_some(LITH_LARGE)
}

fn sizes(tree: &str) -> Table {
    Table {
        name: format!("sizes-{tree}"),
        title: format!("Sizes of {tree}"),
        corpus: tree.into(),
        shown: BUILT,
        plot: Some(Plot::Bars(Metric::RelativeSize)),
        entries: ALGORITHMS.iter().flat_map(Algorithm::built).collect(),
    }
}

fn speeds(tree: &str) -> Table {
    Table {
        name: format!("speeds-{tree}"),
        title: format!("Reading all of {tree}"),
        corpus: tree.into(),
        shown: READ,
        plot: Some(Plot::Bars(Metric::Rate)),
        entries: ALGORITHMS.iter().flat_map(Algorithm::read).collect(),
    }
}
