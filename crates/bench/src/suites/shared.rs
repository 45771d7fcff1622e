//! Defines the series, recipes, mounts and kinds of tables that suites share.

use std::thread;

use crate::{
    image::Recipe,
    mount::Mount,
    reading::{List, Reading},
    results::{Limit, Metric, Plot, Target},
    suite::{Entry, Table, Task},
};

/// Names of series, which have the same colour in all tables and plots.
pub(super) mod series {
    pub(crate) const LITH: &str = "lith";
    pub(crate) const LITH_UNVERIFIED: &str = "lith --no-verify";
    pub(crate) const LITH_KERNEL: &str = "lith, kernel";
    pub(crate) const LITH_PROFILE: &str = "lith --profile";
    pub(crate) const LITH_HEAT: &str = "lith --profile --hot";
    pub(crate) const LITH_OTHER: &str = "lith, other profile";
    pub(crate) const SQUASHFS_SORTED: &str = "SquashFS -sort";
    pub(crate) const LITH_FUSE: &str = "lith, FUSE";
    pub(crate) const LITH_SMALL_CACHE: &str = "lith, FUSE, --cache 32M";
    pub(crate) const MKFS: &str = "mkfs.erofs";
    pub(crate) const MKFS_KERNEL: &str = "mkfs.erofs, kernel";
    pub(crate) const EROFSFUSE: &str = "erofsfuse";
    pub(crate) const FSCK: &str = "fsck.erofs";
    pub(crate) const SQUASHFS: &str = "mksquashfs";
    pub(crate) const SQUASHFS_KERNEL: &str = "SquashFS, kernel";
    pub(crate) const SQUASHFUSE: &str = "squashfuse";
    pub(crate) const SQUASHFUSE_LL: &str = "squashfuse_ll";
    pub(crate) const UNSQUASHFS: &str = "unsquashfs";
    pub(crate) const DWARFS: &str = "DwarFS";
    pub(crate) const EXT4: &str = "ext4";
    pub(crate) const XFS: &str = "XFS";
    pub(crate) const BTRFS: &str = "btrfs, zstd";
    pub(crate) const F2FS: &str = "F2FS";
    pub(crate) const TAR: &str = "tar";
    pub(crate) const LITH_DELTA: &str = "lith delta";
}

/// lith's server with each way to decode, and its option.
pub(super) const WAYS: [(&str, &str); 4] = [
    ("lith, FUSE, direct", "--decode direct"),
    ("lith, FUSE, buffered", "--decode buffered"),
    ("lith, FUSE, rolling", "--decode rolling"),
    ("lith, FUSE, in place", "--decode in-place"),
];

/// Everything is read in order.
pub(super) const TAR: Reading = Reading::Shell {
    command: r#"tar -C "$FOLDER" -cf - . | cat >/dev/null"#,
    list: List::None,
    reads_all: true,
    is_warm: false,
};

/// The files of a list are read.
pub(super) const CAT: &str = r#"cd "$FOLDER" && xargs -0 cat <"$LIST" >/dev/null"#;

/// `LibreOffice` without a window converts a document of some pages; its output goes to a tmpfs.
pub(super) const CONVERT: &str = concat!(
    r#"cd "$FOLDER" && trap 'umount tmp dev proc' EXIT && mount -t tmpfs none tmp && "#,
    r#"mount --bind /dev dev && mount -t proc none proc && chroot "$FOLDER" env HOME=/tmp soffice --headless "#,
    r#"--convert-to pdf --outdir /tmp /document.fodt >/dev/null && test -s "$FOLDER/tmp/document.pdf""#
);

pub(super) const KERNEL_EROFS: Mount = Mount::Kernel("erofs");
pub(super) const KERNEL_SQUASHFS: Mount = Mount::Kernel("squashfs");

/// Everybody builds with as many workers as there are processors.
pub(super) fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

pub(super) fn lith(options: &str) -> Recipe {
    lith_by(workers(), options)
}

pub(super) fn lith_by(workers: usize, options: &str) -> Recipe {
    Recipe::Command(format!(
        "lith build {options} --workers {workers} -T 0 --mtime fixed -U clear SOURCE IMAGE"
    ))
}

pub(super) fn mkfs(options: &str) -> Recipe {
    let workers = workers();
    Recipe::Command(format!(
        "mkfs.erofs --quiet --workers={workers} -T0 -U clear {options} IMAGE SOURCE"
    ))
}

pub(super) fn squashfs(options: &str) -> Recipe {
    let workers = workers();
    Recipe::Command(format!(
        "mksquashfs SOURCE IMAGE {options} -noappend -quiet -no-progress -processors {workers}"
    ))
}

pub(super) fn dwarfs() -> Recipe {
    Recipe::Command("mkdwarfs -i SOURCE -o IMAGE -l7".into())
}

/// A filesystem that is not made for reading alone.
pub(super) fn writable(series: &str) -> Recipe {
    let (name, mkfs, options) = match series {
        series::EXT4 => ("ext4", "mkfs.ext4 -q -F -m 0 -O ^has_journal", "noatime"),
        series::XFS => ("xfs", "mkfs.xfs -q -f", "noatime"),
        series::BTRFS => ("btrfs", "mkfs.btrfs -q -f", "compress-force=zstd:3"),
        _ => ("f2fs", "mkfs.f2fs -q -f", "noatime"),
    };
    Recipe::Filesystem { name, mkfs, options }
}

/// lith's server with further options.
pub(super) fn lith_fuse(options: &str) -> Mount {
    let line = format!("lith mount --fuse --foreground {options} IMAGE MOUNT");
    Mount::Server(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Who serves the images of a series.
fn mount(series: &str) -> Mount {
    match series {
        series::LITH_KERNEL | series::MKFS_KERNEL => KERNEL_EROFS,
        series::SQUASHFS_KERNEL => KERNEL_SQUASHFS,
        series::EXT4 => Mount::Kernel("ext4"),
        series::XFS => Mount::Kernel("xfs"),
        series::BTRFS => Mount::Kernel("btrfs"),
        series::F2FS => Mount::Kernel("f2fs"),
        series::LITH_SMALL_CACHE => lith_fuse("--cache 32M"),
        series::EROFSFUSE => Mount::Server("erofsfuse -f IMAGE MOUNT".into()),
        series::SQUASHFUSE => Mount::Server("squashfuse -f IMAGE MOUNT".into()),
        series::SQUASHFUSE_LL => Mount::Server("squashfuse_ll -f IMAGE MOUNT".into()),
        series::DWARFS => Mount::Server("dwarfs IMAGE MOUNT -f".into()),
        _ => lith_fuse(""),
    }
}

/// An image of a series is mounted and read.
pub(super) fn reads(
    series: &'static str,
    variant: &str,
    image: &Recipe,
    reading: &Reading,
) -> Entry {
    reads_by(series, variant, (image, mount(series)), reading)
}

/// An image is mounted in a way that is not that of its series, and read.
pub(super) fn reads_by(
    series: &'static str,
    variant: &str,
    (image, mount): (&Recipe, Mount),
    reading: &Reading,
) -> Entry {
    let (image, reading) = (image.clone(), reading.clone());
    Entry::new(series, variant, Task::Read { image, mount, reading })
}

pub(super) fn builds(series: &'static str, variant: &str, image: &Recipe) -> Entry {
    Entry::new(series, variant, Task::Build(image.clone()))
}

/// An image is given to a command.
pub(super) fn runs(series: &'static str, variant: &str, image: &Recipe, command: &str) -> Entry {
    Entry::new(series, variant, Task::Run { image: image.clone(), command: command.into() })
}

/// The filesystems that are not made for reading alone.
pub(super) fn read_writable(reading: &Reading) -> impl Iterator<Item = Entry> {
    let all = [series::EXT4, series::XFS, series::BTRFS, series::F2FS];
    all.into_iter().map(|series| reads(series, "as it is", &writable(series), reading))
}

/// Images of the same kind that the builders make.
pub(super) struct Kind {
    /// For people: `lz4hc,12, 64 KiB`.
    pub(super) name: String,
    pub(super) lith: Recipe,
    pub(super) mkfs: Recipe,
    pub(super) squashfs: Recipe,
}

impl Kind {
    /// The entries of all that mount such images: lith's own, mkfs.erofs' own, and `SquashFS`.
    pub(super) fn read(&self, reading: &Reading) -> [Entry; 6] {
        let (kernel, fuse) = (Some(series::LITH_KERNEL), Some(series::LITH_FUSE));
        [
            (series::LITH_KERNEL, &self.lith, None),
            (series::MKFS_KERNEL, &self.mkfs, kernel),
            (series::SQUASHFS_KERNEL, &self.squashfs, kernel),
            (series::LITH_FUSE, &self.lith, None),
            (series::EROFSFUSE, &self.mkfs, fuse),
            (series::SQUASHFUSE_LL, &self.squashfs, fuse),
        ]
        .map(|(series, image, against)| Entry {
            against,
            ..reads(series, &self.name, image, reading)
        })
    }

    /// The entries of all that build such images.
    pub(super) fn build(&self) -> [Entry; 3] {
        let rival = Some(series::LITH);
        [
            (series::LITH, &self.lith, None),
            (series::MKFS, &self.mkfs, rival),
            (series::SQUASHFS, &self.squashfs, rival),
        ]
        .map(|(series, image, against)| Entry { against, ..builds(series, &self.name, image) })
    }
}

/// A table with a plot of bars.
pub(super) fn table(
    name: &str,
    title: &str,
    corpus: &str,
    (shown, bars): (&'static [Metric], Metric),
    entries: impl IntoIterator<Item = Entry>,
) -> Table {
    Table {
        name: name.into(),
        title: title.into(),
        corpus: corpus.into(),
        shown,
        plot: Some(Plot::Bars(bars)),
        entries: entries.into_iter().collect(),
        is_long: false,
    }
}

/// At most `limit` times the value of the other.
pub(super) const fn at_most(metric: Metric, limit: f64) -> Target {
    Target { metric, relative: true, limit: Limit::Most(limit) }
}

/// At least `limit` times the value of the other.
pub(super) const fn at_least(metric: Metric, limit: f64) -> Target {
    Target { metric, relative: true, limit: Limit::Least(limit) }
}
