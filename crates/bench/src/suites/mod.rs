//! Which suites are there? Lists them, and defines the recipes and series that they share.

mod build;
mod erofs;
mod gentle;
mod paper;
mod read;
mod start;
mod whole;

use std::thread;

use crate::{
    corpus::Names,
    error::Error,
    image::Recipe,
    mount::Mount,
    reading::Reading,
    results::{Limit, Metric, Target},
    suite::{Entry, Suite, Task},
};

type Make = fn(&Names) -> Suite;

/// All suites: those that repeat published comparisons, then those with targets for lith.
const ALL: [(&str, Make); 17] = [
    ("erofs", erofs::suite),
    ("paper", paper::suite),
    ("gentle", gentle::suite),
    ("start", start::suite),
    ("build", build::build),
    ("large", build::large),
    ("pack", build::pack),
    ("smallest", build::smallest),
    ("squash", build::squash),
    ("check", whole::check),
    ("extract", whole::extract),
    ("seq", read::sequential),
    ("tar", read::tar),
    ("random", read::random),
    ("metadata", read::metadata),
    ("amplification", read::amplification),
    ("ways", read::ways),
];
/// How many of them repeat what others have published.
const PUBLISHED: usize = 4;

/// The requested suites, or if none is named the published ones.
pub(crate) fn chosen(names: &[String], corpora: &Names) -> Result<Vec<Suite>, Error> {
    let make = |name: &String| {
        let found = ALL.iter().find(|(known, _)| known == name);
        found.map(|(_, make)| make(corpora)).ok_or_else(|| Error::Unknown {
            kind: "suite",
            name: name.clone(),
            known: ALL.map(|(known, _)| known).join(", "),
        })
    };
    if names.is_empty() {
        return Ok(ALL.iter().take(PUBLISHED).map(|(_, make)| make(corpora)).collect());
    }
    names.iter().map(make).collect()
}

/// The names and titles of all suites.
#[must_use]
pub fn list(corpora: &Names) -> Vec<(&'static str, &'static str)> {
    ALL.iter().map(|(name, make)| (*name, make(corpora).title)).collect()
}

/// Names of series, which have the same colour in all tables and plots.
mod series {
    pub(crate) const LITH: &str = "lith";
    pub(crate) const LITH_UNVERIFIED: &str = "lith --no-verify";
    pub(crate) const LITH_KERNEL: &str = "lith, kernel";
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
}

const EXT4: Recipe = Recipe::Filesystem {
    name: "ext4",
    mkfs: "mkfs.ext4 -q -F -m 0 -O ^has_journal",
    options: "noatime",
};
const XFS: Recipe = Recipe::Filesystem { name: "xfs", mkfs: "mkfs.xfs -q -f", options: "noatime" };
const BTRFS: Recipe = Recipe::Filesystem {
    name: "btrfs",
    mkfs: "mkfs.btrfs -q -f",
    options: "compress-force=zstd:3",
};
const F2FS: Recipe =
    Recipe::Filesystem { name: "f2fs", mkfs: "mkfs.f2fs -q -f", options: "noatime" };

/// Everybody builds with as many workers as there are processors.
fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn lith(options: &str) -> Recipe {
    let workers = workers();
    Recipe::Command(format!(
        "lith build {options} --workers {workers} -T 0 --mtime fixed -U clear SOURCE IMAGE"
    ))
}

fn mkfs(options: &str) -> Recipe {
    let workers = workers();
    Recipe::Command(format!(
        "mkfs.erofs --quiet --workers={workers} -T0 -U clear {options} IMAGE SOURCE"
    ))
}

fn squashfs(options: &str) -> Recipe {
    let workers = workers();
    Recipe::Command(format!(
        "mksquashfs SOURCE IMAGE {options} -noappend -quiet -no-progress -processors {workers}"
    ))
}

fn dwarfs() -> Recipe {
    Recipe::Command("mkdwarfs -i SOURCE -o IMAGE -l7".into())
}

const KERNEL_EROFS: Mount = Mount::Kernel("erofs");
const KERNEL_SQUASHFS: Mount = Mount::Kernel("squashfs");

/// lith's server with further options.
fn lith_fuse(options: &str) -> Mount {
    let line = format!("lith mount --fuse --foreground {options} IMAGE MOUNT");
    Mount::Server(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn server(line: &str) -> Mount {
    Mount::Server(line.into())
}

/// Images of the same kind that the builders make.
#[derive(Clone, Debug)]
struct Kind {
    /// For people: `lz4hc,12, 64 KiB`.
    name: String,
    lith: Recipe,
    mkfs: Recipe,
    squashfs: Recipe,
}

impl Kind {
    /// The entries of all that mount such images: lith's own, mkfs.erofs' own, and `SquashFS`.
    fn read(&self, reading: &Reading) -> Vec<Entry> {
        let read = |series, image: &Recipe, mount, against| Entry {
            against,
            ..reads(series, &self.name, (image.clone(), mount), reading)
        };
        let (kernel, fuse) = (Some(series::LITH_KERNEL), Some(series::LITH_FUSE));
        vec![
            read(series::LITH_KERNEL, &self.lith, KERNEL_EROFS, None),
            read(series::MKFS_KERNEL, &self.mkfs, KERNEL_EROFS, kernel),
            read(series::SQUASHFS_KERNEL, &self.squashfs, KERNEL_SQUASHFS, kernel),
            read(series::LITH_FUSE, &self.lith, lith_fuse(""), None),
            read(series::EROFSFUSE, &self.mkfs, server("erofsfuse -f IMAGE MOUNT"), fuse),
            read(
                series::SQUASHFUSE_LL,
                &self.squashfs,
                server("squashfuse_ll -f IMAGE MOUNT"),
                fuse,
            ),
        ]
    }

    /// The entries of all that build such images.
    fn build(&self) -> Vec<Entry> {
        let build = |series, image: &Recipe, against| Entry {
            against,
            ..builds(series, &self.name, image)
        };
        let rival = Some(series::LITH);
        vec![
            build(series::LITH, &self.lith, None),
            build(series::MKFS, &self.mkfs, rival),
            build(series::SQUASHFS, &self.squashfs, rival),
        ]
    }
}

/// Filesystems that are not made for reading alone.
fn writable(reading: &Reading) -> Vec<Entry> {
    let read = |series, image: Recipe, name| {
        let entry = reads(series, "", (image, Mount::Kernel(name)), reading);
        Entry { variant: "as it is".into(), ..entry }
    };
    vec![
        read(series::EXT4, EXT4, "ext4"),
        read(series::XFS, XFS, "xfs"),
        read(series::BTRFS, BTRFS, "btrfs"),
        read(series::F2FS, F2FS, "f2fs"),
    ]
}

fn reads(
    series: &'static str,
    variant: &str,
    (image, mount): (Recipe, Mount),
    reading: &Reading,
) -> Entry {
    let task = Task::Read { image, mount, reading: reading.clone() };
    Entry { series, variant: variant.into(), task, against: None, targets: Vec::new() }
}

fn builds(series: &'static str, variant: &str, image: &Recipe) -> Entry {
    let task = Task::Build(image.clone());
    Entry { series, variant: variant.into(), task, against: None, targets: Vec::new() }
}

/// At most `limit` times the value of the other.
const fn at_most(metric: Metric, limit: f64) -> Target {
    Target { metric, relative: true, limit: Limit::Most(limit) }
}

/// At least `limit` times the value of the other.
const fn at_least(metric: Metric, limit: f64) -> Target {
    Target { metric, relative: true, limit: Limit::Least(limit) }
}

/// `4 KiB`, `1 MiB`.
fn size_text(bytes: u32) -> String {
    if bytes >> 20 > 0 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::corpus::Corpora;

    fn all() -> Vec<Suite> {
        let names = ALL.map(|(name, _)| name.to_owned());
        chosen(&names, &Corpora::new("/".into(), Some("/usr".into()), "/".into()).names()).unwrap()
    }

    #[test]
    fn suites_and_tables_have_names_of_their_own() {
        for (suite, (name, _)) in all().iter().zip(ALL) {
            assert_eq!(suite.name, name);
            assert!(!suite.tables.is_empty(), "{name}");
            let tables: HashSet<_> = suite.tables.iter().map(|table| &table.name).collect();
            assert_eq!(tables.len(), suite.tables.len(), "{name}");
        }
        assert!(matches!(chosen(&["none".into()], &Names::known()), Err(Error::Unknown { .. })));
    }

    #[test]
    fn entries_are_told_apart_and_find_whom_they_are_compared_with() {
        for suite in all() {
            for table in suite.tables {
                let keys: HashSet<_> = table
                    .entries
                    .iter()
                    .map(|entry| (entry.series, entry.variant.clone()))
                    .collect();
                assert_eq!(keys.len(), table.entries.len(), "{} {}", suite.name, table.name);
                for entry in &table.entries {
                    let found = entry
                        .against
                        .is_none_or(|series| keys.contains(&(series, entry.variant.clone())));
                    assert!(found, "{} {}: {}", suite.name, table.name, entry.label());
                    let needs_other = entry.targets.iter().any(|target| target.relative);
                    assert!(
                        !needs_other || entry.against.is_some(),
                        "{} {}",
                        suite.name,
                        entry.label()
                    );
                }
            }
        }
    }
}
