//! Defines the suite that starts a large application, as users of snaps experience it.

use super::shared::{CONVERT, lith, mkfs, reads, series, squashfs, table, writable};
use crate::{
    corpus::Names,
    reading::{List, Reading},
    results::Metric,
    suite::{Entry, Suite},
};

const SHOWN: &[Metric] = &[
    Metric::Wall,
    Metric::MachineCpu,
    Metric::Fetched,
    Metric::Requests,
    Metric::PeakMemory,
    Metric::Size,
];

pub(super) fn suite(corpora: &Names) -> Suite {
    let table = |name, title, is_warm| {
        let entries = entries(is_warm);
        table(name, title, &corpora.application, (SHOWN, Metric::Wall), entries)
    };
    Suite {
        name: "start",
        title: "Starting a large application",
        about: "The complaint that packages in compressed images start slowly: a root filesystem with LibreOffice is \
                mounted, and LibreOffice converts a document without a window; cold, with nothing in memory, and warm, \
                when it has just done so.",
        tables: vec![
            table("cold", "LibreOffice converts a document, cold", false),
            table("warm", "LibreOffice converts a document, warm", true),
        ],
    }
}

fn entries(is_warm: bool) -> [Entry; 14] {
    let reading = Reading::Shell { command: CONVERT, list: List::None, reads_all: false, is_warm };
    let lz4hc = lith("--kernel 6.12 -z lz4hc,12 -C 65536");
    let zstd = lith("--kernel 6.12 -z zstd,9 -C 65536 -E fragments");
    let theirs = mkfs("-zzstd,9 -C65536 -Efragments");
    let squashed = squashfs("-comp zstd");
    [
        (series::EXT4, "as it is", &writable(series::EXT4)),
        (series::BTRFS, "as it is", &writable(series::BTRFS)),
        (series::LITH_KERNEL, "uncompressed", &lith("-z none")),
        (series::LITH_KERNEL, "lz4hc", &lz4hc),
        (series::LITH_KERNEL, "zstd", &zstd),
        (series::LITH_KERNEL, "LZMA", &lith("--preset small")),
        (series::LITH_FUSE, "lz4hc", &lz4hc),
        (series::LITH_FUSE, "zstd", &zstd),
        (series::MKFS_KERNEL, "zstd", &theirs),
        (series::EROFSFUSE, "zstd", &theirs),
        (series::SQUASHFS_KERNEL, "LZMA", &squashfs("-comp xz")),
        (series::SQUASHFS_KERNEL, "LZO", &squashfs("-comp lzo")),
        (series::SQUASHFS_KERNEL, "zstd", &squashed),
        (series::SQUASHFUSE_LL, "zstd", &squashed),
    ]
    .map(|(series, variant, image)| {
        let against = match (series, variant) {
            (series::MKFS_KERNEL | series::SQUASHFS_KERNEL, "zstd" | "LZMA") => {
                Some(series::LITH_KERNEL)
            }
            (series::EROFSFUSE | series::SQUASHFUSE_LL, _) => Some(series::LITH_FUSE),
            _ => None,
        };
        Entry { against, ..reads(series, variant, image, &reading) }
    })
}
