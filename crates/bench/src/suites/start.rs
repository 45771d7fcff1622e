//! Defines the suite that starts a large application, as users of snaps experience it.

use super::{
    BTRFS, EXT4, KERNEL_EROFS, KERNEL_SQUASHFS, lith, lith_fuse, mkfs, reads, series, server,
    squashfs,
};
use crate::{
    corpus::Names,
    image::Recipe,
    mount::Mount,
    reading::{List, Reading},
    results::{Metric, Plot},
    suite::{Entry, Suite, Table},
};

const SHOWN: &[Metric] = &[
    Metric::Wall,
    Metric::MachineCpu,
    Metric::Fetched,
    Metric::Requests,
    Metric::PeakMemory,
    Metric::Size,
];

/// `LibreOffice` without a window converts a document of some pages; its output goes to a tmpfs.
const CONVERT: &str = concat!(
    r#"cd "$FOLDER" && trap 'umount tmp dev proc' EXIT && mount -t tmpfs none tmp && "#,
    r#"mount --bind /dev dev && mount -t proc none proc && chroot "$FOLDER" env HOME=/tmp soffice --headless "#,
    r#"--convert-to pdf --outdir /tmp /document.fodt >/dev/null && test -s "$FOLDER/tmp/document.pdf""#
);

pub(super) fn suite(corpora: &Names) -> Suite {
    let table = |name: &str, title: &str, is_warm| Table {
        name: name.into(),
        title: title.into(),
        corpus: corpora.application.clone(),
        shown: SHOWN,
        plot: Some(Plot::Bars(Metric::Wall)),
        entries: entries(is_warm),
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

fn entries(is_warm: bool) -> Vec<Entry> {
    let reading = Reading::Shell { command: CONVERT, list: List::None, reads_all: false, is_warm };
    let zstd = "--kernel 6.12 -z zstd,9 -C 65536 -E fragments";
    let contestants: [(&'static str, &str, Recipe, Mount); 14] = [
        (series::EXT4, "as it is", EXT4, Mount::Kernel("ext4")),
        (series::BTRFS, "as it is", BTRFS, Mount::Kernel("btrfs")),
        (series::LITH_KERNEL, "uncompressed", lith("-z none"), KERNEL_EROFS),
        (series::LITH_KERNEL, "lz4hc", lith("--kernel 6.12 -z lz4hc,12 -C 65536"), KERNEL_EROFS),
        (series::LITH_KERNEL, "zstd", lith(zstd), KERNEL_EROFS),
        (series::LITH_KERNEL, "LZMA", lith("--preset small"), KERNEL_EROFS),
        (series::LITH_FUSE, "lz4hc", lith("--kernel 6.12 -z lz4hc,12 -C 65536"), lith_fuse("")),
        (series::LITH_FUSE, "zstd", lith(zstd), lith_fuse("")),
        (series::MKFS_KERNEL, "zstd", mkfs("-zzstd,9 -C65536 -Efragments"), KERNEL_EROFS),
        (
            series::EROFSFUSE,
            "zstd",
            mkfs("-zzstd,9 -C65536 -Efragments"),
            server("erofsfuse -f IMAGE MOUNT"),
        ),
        (series::SQUASHFS_KERNEL, "LZMA", squashfs("-comp xz"), KERNEL_SQUASHFS),
        (series::SQUASHFS_KERNEL, "LZO", squashfs("-comp lzo"), KERNEL_SQUASHFS),
        (series::SQUASHFS_KERNEL, "zstd", squashfs("-comp zstd"), KERNEL_SQUASHFS),
        (
            series::SQUASHFUSE_LL,
            "zstd",
            squashfs("-comp zstd"),
            server("squashfuse_ll -f IMAGE MOUNT"),
        ),
    ];
    let entry = |(series, variant, image, mount): (&'static str, &str, Recipe, Mount)| {
        let against = match (series, variant) {
            (series::MKFS_KERNEL | series::SQUASHFS_KERNEL, "zstd" | "LZMA") => {
                Some(series::LITH_KERNEL)
            }
            (series::EROFSFUSE | series::SQUASHFUSE_LL, _) => Some(series::LITH_FUSE),
            _ => None,
        };
        Entry { against, ..reads(series, variant, (image, mount), &reading) }
    };
    contestants.map(entry).into()
}
