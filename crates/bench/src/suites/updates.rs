//! Defines what shipping a new version of a tree costs: as a patch that refers to the old image, and as a delta; and the
//! cost of merging layers.

use super::shared::{CAT, TAR, at_least, at_most, series, workers};
use crate::{
    corpus::Names,
    image::Recipe,
    mount::Mount,
    reading::{List, Reading},
    results::{Limit, Metric, Plot, Target},
    suite::{Entry, Suite, Table, Task},
};

const BUILT: &[Metric] = &[Metric::Size, Metric::Cpu, Metric::Wall, Metric::PeakMemory];
const READ: &[Metric] = &[Metric::Wall, Metric::MachineCpu, Metric::Fetched];
const APPLIED: &[Metric] = &[Metric::Wall, Metric::Cpu, Metric::CpuRate, Metric::PeakMemory];

const WHOLE: &str = "whole image";
const PATCH: &str = "patch";
const STORED: &str = "lith delta --stored";
const XDELTA: &str = "xdelta3 -9";
const BSDIFF: &str = "bsdiff";
const ZSTD: &str = "zstd of the tars";

/// Kinds of images, each with the options of its builds.
const KINDS: [(&str, &str); 2] =
    [("lz4hc,12", ""), ("zstd,9", "-z zstd,9 -E fragments --kernel 6.12")];

/// What `bsdiff` is tried on, which has no bound of time or memory.
const FOR_BSDIFF: [&str; 2] = ["updates-npm", "updates-debian"];

/// Words of shells.
const NEW: &str = r#""$SOURCE""#;
const OLD: &str = r#""$IMAGE/old.erofs""#;
const IMAGES: &str = r#""$IMAGE/old.erofs" "$IMAGE/new.erofs""#;
/// Of xdelta3: all of the old image can be referred to.
const WINDOW: &str = "-B 1073741824";

const LAYERS: usize = 10;

pub(super) fn suite(corpora: &Names) -> Suite {
    let random =
        Reading::Shell { command: CAT, list: List::Files(1000), reads_all: false, is_warm: false };
    let mut tables = Vec::new();
    for tree in &corpora.successions {
        tables.push(table(("build", "Building for", tree), BUILT, KINDS.iter().flat_map(built)));
        let deltas = KINDS.iter().enumerate().flat_map(|(at, kind)| deltas(at, kind, tree));
        tables.push(Table { is_long: true, ..table(("delta", "Deltas of", tree), BUILT, deltas) });
        tables.push(table(
            ("apply", "Applying deltas of", tree),
            APPLIED,
            KINDS.iter().flat_map(applied),
        ));
        let read = |reading: &Reading| -> Vec<Entry> {
            KINDS.iter().flat_map(|kind| read(kind, reading)).collect()
        };
        tables.push(table(("tar", "Reading all of", tree), READ, read(&TAR)));
        tables.push(table(("random", "1,000 random files of", tree), READ, read(&random)));
    }
    tables.push(table(("merge", "Ten layers of", &corpora.many), BUILT, merged()));
    Suite {
        name: "updates",
        title: "Updates: patches, deltas and merged layers",
        about: "Of two releases that follow each other: the new one's image beside a patch that refers to the old \
            image, both read by the kernel, and deltas of the two images. Deltas are made once, without a round to warm up.",
        tables,
    }
}

fn table(
    (name, title, tree): (&str, &str, &str),
    shown: &'static [Metric],
    entries: impl IntoIterator<Item = Entry>,
) -> Table {
    let bars = match name {
        "build" | "delta" => Metric::Size,
        "apply" => Metric::CpuRate,
        _ => Metric::Wall,
    };
    Table {
        name: format!("{name}-{tree}"),
        title: format!("{title} {tree}"),
        corpus: tree.into(),
        shown,
        plot: Some(Plot::Bars(bars)),
        entries: entries.into_iter().collect(),
        is_long: false,
    }
}

/// A build of `source` to `image`, two words of a shell.
fn build(options: &str, source: &str, image: &str) -> String {
    let workers = workers();
    let line = format!(
        "lith build {options} --workers {workers} -T 0 --mtime fixed -U clear {source} {image}"
    );
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A folder of images, the old one, the new one and the patch, and of deltas, which are made with little effort: that makes
/// no difference when they are applied. Where there is no xdelta3, there is no delta of it.
fn images((_, options): &(&str, &str)) -> String {
    let delta = |option: &str| format!("lith delta --level 3{option} {IMAGES} -o \"$IMAGE/");
    let line = format!(
        r#"sh -c mkdir "$IMAGE" && {} && {} && {} && {}delta" ; env xdelta3 -q -e -1 {WINDOW} -f -s {IMAGES} "$IMAGE/xdelta" || true ; {}stored""#,
        build(options, r#""$SOURCE/../old""#, OLD),
        build(options, NEW, r#""$IMAGE/new.erofs""#),
        patch(options, r#""$IMAGE/patch.erofs""#),
        delta(""),
        delta(" --stored"),
    );
    line
}

fn patch(options: &str, image: &str) -> String {
    build(&format!(r#"{options} --base "$IMAGE/old.erofs""#), NEW, image)
}

fn makes(series: &'static str, variant: &str, set: String, command: &str) -> Entry {
    let command = format!("sh -c {command}");
    Entry::new(series, variant, Task::Make { set: Recipe::Command(set), command })
}

fn built(kind: &(&'static str, &'static str)) -> [Entry; 2] {
    let (name, options) = kind;
    let whole = build(options, NEW, r#""$MOUNT""#);
    [
        makes(WHOLE, name, images(kind), &whole),
        Entry {
            against: Some(WHOLE),
            targets: vec![at_most(Metric::Size, 0.25), at_most(Metric::Cpu, 0.35)],
            ..makes(PATCH, name, images(kind), &patch(options, r#""$MOUNT""#))
        },
    ]
}

fn deltas(at: usize, kind: &(&'static str, &'static str), tree: &str) -> Vec<Entry> {
    let workers = workers();
    let own = |series, option: &str| {
        let line = format!("lith delta {option} --workers {workers} {IMAGES} -o \"$MOUNT\"");
        makes(series, kind.0, images(kind), &line)
    };
    let rival = |series, line: String, least: f64| Entry {
        against: Some(series::LITH_DELTA),
        targets: vec![at_least(Metric::Size, least)],
        ..makes(series, kind.0, images(kind), &line)
    };
    let mut entries = vec![
        own(series::LITH_DELTA, ""),
        own(STORED, "--stored"),
        rival(XDELTA, format!("xdelta3 -e -9 {WINDOW} -f -s {IMAGES} \"$MOUNT\""), 1.0 / 0.6),
    ];
    if at == 0 && (FOR_BSDIFF.contains(&tree) || !tree.starts_with("updates-")) {
        entries.push(rival(BSDIFF, format!("bsdiff {IMAGES} \"$MOUNT\""), 1.0 / 0.6));
    }
    if at == 0 {
        let tars = r#"sh -c mkdir "$IMAGE" && tar -C "$SOURCE/../old" --sort=name -cf "$IMAGE/old.tar" . && tar -C "$SOURCE" --sort=name -cf "$IMAGE/new.tar" ."#;
        let line =
            r#"zstd -q -19 --long=31 --patch-from="$IMAGE/old.tar" "$IMAGE/new.tar" -o "$MOUNT""#;
        entries.push(Entry {
            against: Some(series::LITH_DELTA),
            targets: vec![at_least(Metric::Size, 1.0 / 1.1)],
            ..makes(ZSTD, kind.0, tars.into(), line)
        });
    }
    entries
}

fn applied(kind: &(&'static str, &'static str)) -> [Entry; 3] {
    let workers = workers();
    let applies = |series, delta: &str| {
        let line = format!("lith apply --workers {workers} {OLD} \"$IMAGE/{delta}\" -o \"$MOUNT\"");
        makes(series, kind.0, images(kind), &line)
    };
    let memory = |limit| Target { metric: Metric::PeakMemory, relative: false, limit };
    let memory = memory(Limit::Most(268_435_456.0));
    let rate = Target { metric: Metric::CpuRate, relative: false, limit: Limit::Least(1e8) };
    let xdelta = format!("xdelta3 -d {WINDOW} -f -s {OLD} \"$IMAGE/xdelta\" \"$MOUNT\"");
    [
        Entry { targets: vec![memory], ..applies(series::LITH_DELTA, "delta") },
        Entry { targets: vec![memory, rate], ..applies(STORED, "stored") },
        Entry { against: Some(series::LITH_DELTA), ..makes(XDELTA, kind.0, images(kind), &xdelta) },
    ]
}

fn read(kind: &(&'static str, &'static str), reading: &Reading) -> [Entry; 2] {
    let read = |series, image: &str| {
        let mount = Mount::Command(format!(r#"sh -c lith mount "$IMAGE/{image}.erofs" "$MOUNT""#));
        let (image, reading) = (Recipe::Command(images(kind)), reading.clone());
        Entry::new(series, kind.0, Task::Read { image, mount, reading })
    };
    [
        read(WHOLE, "new"),
        Entry {
            against: Some(WHOLE),
            targets: vec![at_most(Metric::Wall, 1.1)],
            ..read(PATCH, "patch")
        },
    ]
}

/// Layers have every tenth file each.
fn merged() -> [Entry; 2] {
    let layers = (0..LAYERS).map(|n| {
        format!(
            r#" && find "$SOURCE" -mindepth 1 -type f -printf "%P\n" | awk "NR%{LAYERS}=={n}" | tar -C "$SOURCE" --no-recursion -T - -cf - | lith build -z lz4 - "$IMAGE/{n}.erofs""#
        )
    });
    let set = format!(r#"sh -c mkdir "$IMAGE"{}"#, layers.collect::<String>());
    let all = (0..LAYERS).map(|n| format!(r#" "$IMAGE/{n}.erofs""#)).collect::<Vec<_>>().concat();
    let workers = workers();
    let merge = |option: &str| format!("lith merge{option} --workers {workers}{all} -o \"$MOUNT\"");
    [
        makes("lith merge", "ten layers", set.clone(), &merge("")),
        makes("lith merge --copy", "ten layers", set, &merge(" --copy")),
    ]
}
