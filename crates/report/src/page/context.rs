//! Defines [`Page`]: the text on a page, as the template gets it.

use lith_reader::ExtentKind;
use serde::Serialize;

use super::{
    strip::Map,
    text::{change, grouped, percent, shown},
    treemap::{self, By, Tile},
};
use crate::{
    facts::{
        Contents, Details, Duplicates, EqualFiles, EqualGroup, Estimates, Facts, Folder,
        FolderFile, LargeFile, Summary, Sums, TypeSums,
    },
    number::{Bytes, Count, Share},
};

/// Types with a row of their own.
const TYPES: usize = 20;

/// All that is on a page.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    title: String,
    about: Vec<(&'static str, String)>,
    figures: Vec<Figure>,
    kernel: Vec<(String, String)>,
    storage: Vec<Storage>,
    details: Option<Drawn>,
    presets: Option<Presets>,
}

/// A key figure.
#[derive(Debug, Serialize)]
struct Figure {
    name: &'static str,
    value: String,
    note: String,
}

/// How data is stored.
#[derive(Debug, Serialize)]
struct Storage {
    name: &'static str,
    extents: String,
    sums: Row,
}

/// The columns for sums.
#[derive(Debug, Serialize)]
struct Row {
    bytes: String,
    stored: String,
    share: String,
    /// Percent of the whole.
    bytes_width: String,
    stored_width: String,
}

/// Treemaps, maps and tables.
#[derive(Debug, Serialize)]
struct Drawn {
    height: String,
    folders: Treemaps,
    types: Treemaps,
    folder_list: Vec<FolderRow>,
    type_list: Vec<(String, String, Row)>,
    packed_rest: Option<String>,
    by_bytes: Vec<(String, Row)>,
    by_stored: Vec<(String, Row)>,
    duplicates: Vec<(&'static str, String, String)>,
    equal: Option<Equal>,
    maps: Vec<Map>,
}

/// Equal files that are stored several times.
#[derive(Debug, Serialize)]
struct Equal {
    summary: String,
    rows: Vec<EqualRow>,
}

#[derive(Debug, Serialize)]
struct EqualRow {
    paths: Vec<String>,
    more: u64,
    bytes: String,
    stored: String,
}

#[derive(Debug, Serialize)]
struct Treemaps {
    before: Vec<Tile>,
    after: Vec<Tile>,
}

impl Treemaps {
    fn new(draw: impl Fn(By) -> Vec<Tile>) -> Self {
        Self { before: draw(By::Bytes), after: draw(By::Stored) }
    }
}

#[derive(Debug, Serialize)]
struct FolderRow {
    name: String,
    files: String,
    sums: Row,
    folders: Vec<FolderRow>,
    large_files: Vec<(String, Row)>,
}

#[derive(Debug, Serialize)]
struct Presets {
    is_whole: bool,
    sample: String,
    rows: Vec<PresetRow>,
}

#[derive(Debug, Serialize)]
struct PresetRow {
    name: String,
    image: String,
    change: String,
    is_smaller: bool,
    width: String,
}

impl Page {
    pub(super) fn new(name: &[u8], facts: &Facts) -> Self {
        let Facts { summary, contents, details, presets } = facts;
        let empty = Contents::default();
        let contents = contents.as_ref().unwrap_or(&empty);
        let requirements = summary.kernel.reasons.iter();
        Self {
            title: shown(name),
            about: about(summary),
            figures: figures(summary, contents),
            kernel: requirements.map(|r| (r.since.clone(), r.what.clone())).collect(),
            storage: storage(contents),
            details: details.as_ref().map(Drawn::new),
            presets: presets.as_ref().map(Presets::new),
        }
    }
}

fn about(summary: &Summary) -> Vec<(&'static str, String)> {
    let list = |names: &[&str]| if names.is_empty() { "none".into() } else { names.join(", ") };
    let made = jiff::Timestamp::from_second(summary.made);
    let made = made.map_or_else(
        |_beyond| format!("@{}", summary.made),
        |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    );
    let algorithms = summary.algorithms.iter().map(|a| format!("{}: {}", a.name, a.needs));
    let algorithms: Vec<_> = algorithms.collect();
    let mut about = vec![
        ("UUID", summary.uuid.clone()),
        ("Label", shown(summary.label.as_bytes())),
        ("Made", made),
        ("Blocks", format!("{} of {} bytes", grouped(summary.blocks), summary.block_size)),
        ("Features", list(&summary.features.incompat)),
        ("Compatible", list(&summary.features.compat)),
        ("Algorithms", algorithms.join("; ")),
    ];
    about.extend(summary.devices.iter().map(|device| {
        let tag = shown(device.tag.as_bytes());
        ("Device", format!("{} blocks {tag}", grouped(device.blocks)))
    }));
    about.retain(|(_, value)| !value.is_empty());
    about
}

fn figures(summary: &Summary, contents: &Contents) -> Vec<Figure> {
    let kinds = contents.kinds.iter().map(|(kind, count)| {
        let (one, many) = match kind.word() {
            "directory" => ("directory", "directories"),
            "file" => ("file", "files"),
            "symlink" => ("symlink", "symlinks"),
            "char" => ("character device", "character devices"),
            "block" => ("block device", "block devices"),
            "fifo" => ("fifo", "fifos"),
            _ => ("socket", "sockets"),
        };
        format!("{} {}", grouped(*count), if *count == 1 { one } else { many })
    });
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let (size, bytes) = (summary.size, contents.bytes);
    let figure = |name, value, note| Figure { name, value, note };
    let names = Count(contents.names, "name").to_string();
    vec![
        figure("Image", Bytes(size).to_string(), format!("{} bytes", grouped(size))),
        figure(
            "Content",
            Bytes(bytes).to_string(),
            format!("stored in {}", Bytes(contents.stored)),
        ),
        figure("Ratio", Share(size, bytes).to_string(), factor(size, bytes)),
        figure("Inodes", grouped(summary.inodes), if kinds.is_empty() { names } else { kinds }),
        figure("Mounts on", format!("Linux {}", summary.kernel.oldest), "and later".to_owned()),
    ]
}

/// The size of the content divided by the size of the image.
fn factor(size: u64, bytes: u64) -> String {
    let hundredths = (u128::from(bytes) * 100).checked_div(u128::from(size)).unwrap_or(0);
    format!("image to content; {}.{:02} to 1", hundredths / 100, hundredths % 100)
}

fn storage(contents: &Contents) -> Vec<Storage> {
    let tallies = contents.data.iter();
    let sums = tallies.map(|(name, tally)| {
        (*name, tally.extents, Sums { files: 0, bytes: tally.bytes, stored: tally.stored })
    });
    let sums: Vec<_> = sums.collect();
    let mut whole = Sums::default();
    for (.., sums) in &sums {
        whole.add(sums);
    }
    let storage = |(name, extents, sums): (_, u64, Sums)| {
        let row = Row::new(&sums, &whole);
        // Their stored bytes are those of the packed inode's extents.
        let row = if name == ExtentKind::Fragment.name() {
            Row { stored: "(packed)".to_owned(), share: "-".to_owned(), ..row }
        } else {
            row
        };
        Storage { name, extents: grouped(extents), sums: row }
    };
    sums.into_iter().map(storage).collect()
}

impl Row {
    fn new(sums: &Sums, whole: &Sums) -> Self {
        Self {
            bytes: Bytes(sums.bytes).to_string(),
            stored: Bytes(sums.stored).to_string(),
            share: Share(sums.stored, sums.bytes).to_string(),
            bytes_width: percent(sums.bytes, whole.bytes),
            stored_width: percent(sums.stored, whole.stored),
        }
    }
}

impl Drawn {
    fn new(details: &Details) -> Self {
        let Details { folders, types, packed_rest, largest, .. } = details;
        let whole = folders.all;
        let files = |files: &[LargeFile]| {
            let row = |file: &LargeFile| {
                let sums = Sums { files: 1, bytes: file.bytes, stored: file.stored };
                (shown(&file.path.0), Row::new(&sums, &whole))
            };
            files.iter().map(row).collect()
        };
        Self {
            height: format!("{:.0}", treemap::HEIGHT),
            folders: Treemaps::new(|by| treemap::of_folders(folders, by)),
            types: Treemaps::new(|by| treemap::of_types(types, by)),
            folder_list: folders.folders.iter().map(|f| FolderRow::new(f, &whole)).collect(),
            type_list: type_list(types, &whole),
            packed_rest: (*packed_rest > 0).then(|| Bytes(*packed_rest).to_string()),
            by_bytes: files(&largest.by_bytes),
            by_stored: files(&largest.by_stored),
            duplicates: duplicate_rows(&details.duplicates),
            equal: details.equal_files.as_ref().map(Equal::new),
            maps: details.devices_map.iter().filter_map(Map::new).collect(),
        }
    }
}

fn type_list(types: &[TypeSums], whole: &Sums) -> Vec<(String, String, Row)> {
    let row = |name: String, sums: &Sums| (name, grouped(sums.files), Row::new(sums, whole));
    let mut rows: Vec<_> =
        types.iter().take(TYPES).map(|sums| row(sums.name.clone(), &sums.all)).collect();
    let others = types.get(TYPES..).unwrap_or_default();
    if !others.is_empty() {
        let mut all = Sums::default();
        for sums in others {
            all.add(&sums.all);
        }
        rows.push(row(Count(others.len() as u64, "other type").to_string(), &all));
    }
    rows
}

fn duplicate_rows(duplicates: &Duplicates) -> Vec<(&'static str, String, String)> {
    let rows = [
        ("Hard links (further names of files)", duplicates.hard_links),
        ("Files that are equal to another one", duplicates.whole_files),
        ("Files that share a part with another one", duplicates.parts),
    ];
    rows.map(|(name, repeats)| (name, grouped(repeats.count), Bytes(repeats.bytes).to_string()))
        .into()
}

impl Equal {
    fn new(equal: &EqualFiles) -> Self {
        let row = |group: &EqualGroup| EqualRow {
            paths: group.paths.iter().map(|path| shown(&path.0)).collect(),
            more: group.files.saturating_sub(group.paths.len() as u64),
            bytes: Bytes(group.bytes).to_string(),
            stored: Bytes(group.stored).to_string(),
        };
        let (bytes, stored) = (Bytes(equal.bytes), Bytes(equal.stored));
        let summary = match equal.copies {
            0 => "None.".to_owned(),
            1 => format!("1 further copy of {bytes}, which takes {stored}."),
            copies => {
                format!("{} further copies of {bytes}, which take {stored}.", grouped(copies))
            }
        };
        Self { summary, rows: equal.largest.iter().map(row).collect() }
    }
}

impl FolderRow {
    fn new(folder: &Folder, whole: &Sums) -> Self {
        let file = |file: &FolderFile| (shown(&file.name.0), Row::new(&file.sums(), whole));
        Self {
            name: shown(&folder.name.0),
            files: Count(folder.all.files, "file").to_string(),
            sums: Row::new(&folder.all, whole),
            folders: folder.folders.iter().map(|inner| Self::new(inner, whole)).collect(),
            large_files: folder.large_files.iter().map(file).collect(),
        }
    }
}

impl Presets {
    fn new(estimates: &Estimates) -> Self {
        let now = estimates.now;
        let largest = estimates.presets.iter().map(|preset| preset.image).fold(now, u64::max);
        let row = |name: &str, image: u64, change| PresetRow {
            name: name.to_owned(),
            image: Bytes(image).to_string(),
            change,
            is_smaller: image < now,
            width: percent(image, largest),
        };
        let others = estimates.presets.iter();
        let others = others.map(|one| row(&one.name, one.image, change(one.image, now)));
        Self {
            is_whole: estimates.is_whole,
            sample: Bytes(estimates.sample_bytes).to_string(),
            rows: std::iter::once(row("this image", now, String::new())).chain(others).collect(),
        }
    }
}
