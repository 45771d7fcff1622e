//! Defines the comparison that the presets are chosen by: size, time to build and time to read, on many trees.

use super::shared::{
    self, CAT, KERNEL_EROFS, KERNEL_SQUASHFS, TAR, builds, lith, mkfs, reads_by, series, squashfs,
};
use crate::{
    corpus::Names,
    image::Recipe,
    reading::{List, Reading},
    results::Metric,
    suite::{Entry, Suite, Table},
};

const BUILT: &[Metric] = &[Metric::Size, Metric::Cpu, Metric::Wall, Metric::PeakMemory];
const READ: &[Metric] = &[Metric::Wall, Metric::MachineCpu, Metric::Fetched];

/// What is compared, each with its options.
const OURS: [(&str, &str); 10] = [
    ("fast", "--preset fast"),
    ("balanced", ""),
    ("balanced, Linux 6.12", "--kernel 6.12"),
    ("small", "--preset small"),
    ("small, Linux 6.18", "--preset small --kernel 6.18"),
    ("smallest, Linux 6.18", "--preset smallest --kernel 6.18"),
    ("lz4hc,12 without fragments", "-z lz4hc,12 -E ^fragments"),
    ("zstd,3", "-z zstd,3 -E fragments --kernel 6.12"),
    ("zstd,9", "-z zstd,9 -E fragments --kernel 6.12"),
    ("zstd,9, 1 MiB, all-fragments", "-z zstd,9 -C 1M -E all-fragments --kernel 6.12"),
];
const MKFS: [(&str, &str); 2] = [
    ("lz4hc,12", "-zlz4hc,12 -C65536 -Efragments"),
    ("lzma,9", "-zlzma,9 -C1048576 -Eall-fragments,dedupe -m4096:lzma"),
];
const SQUASHFS: [(&str, &str); 3] =
    [("gzip", ""), ("zstd", "-comp zstd"), ("xz, 1 MiB", "-comp xz -b 1048576")];

pub(super) fn suite(corpora: &Names) -> Suite {
    let random =
        Reading::Shell { command: CAT, list: List::Files(2000), reads_all: false, is_warm: false };
    let tables = corpora.many_trees.iter().flat_map(|tree| {
        let built = images().map(|(series, name, image)| builds(series, name, &image));
        [
            table("build", ("Building", tree), BUILT, built),
            table("tar", ("Reading all of", tree), READ, images().map(|image| read(image, &TAR))),
            table(
                "random",
                ("2,000 random files of", tree),
                READ,
                images().map(|i| read(i, &random)),
            ),
        ]
    });
    Suite {
        name: "presets",
        title: "What the presets are chosen by",
        about: "Presets and their alternatives on several trees: built, and read by the kernel with cold caches.",
        tables: tables.collect(),
    }
}

fn images() -> impl Iterator<Item = (&'static str, &'static str, Recipe)> {
    let ours = OURS.into_iter().map(|(name, options)| (series::LITH, name, lith(options)));
    let mkfs = MKFS.into_iter().map(|(name, options)| (series::MKFS, name, mkfs(options)));
    let squash = SQUASHFS.into_iter().map(|(name, o)| (series::SQUASHFS, name, squashfs(o)));
    ours.chain(mkfs).chain(squash)
}

fn read((series, name, image): (&'static str, &'static str, Recipe), reading: &Reading) -> Entry {
    let mount = if series == series::SQUASHFS { KERNEL_SQUASHFS } else { KERNEL_EROFS };
    reads_by(series, name, (&image, mount), reading)
}

fn table(
    name: &str,
    (title, tree): (&str, &String),
    shown: &'static [Metric],
    entries: impl Iterator<Item = Entry>,
) -> Table {
    let bars = if name == "build" { Metric::Size } else { Metric::Wall };
    shared::table(
        &format!("{name}-{tree}"),
        &format!("{title} {tree}"),
        tree,
        (shown, bars),
        entries,
    )
}
