//! Makes the values on a page, which the template formats.

use std::cmp::Reverse;

use lith_reader::ExtentKind;
use minijinja::{Value, context};

use super::{
    reads, strip,
    text::{anchor, grouped, shown},
    treemap::{self, By, Tile},
};
use crate::{
    facts::{
        Contents, Details, EqualFiles, EqualGroup, Estimates, Facts, Folder, LargeFile, Largest,
        Summary, Sums, TypeSums,
    },
    number::{Bytes, Count, Share},
};

/// Types with a row of their own.
const TYPES: usize = 20;

/// All that is on a page.
pub(super) fn page(name: &[u8], facts: &Facts) -> Value {
    let Facts { summary, contents, details, presets, reads } = facts;
    let empty = Contents::default();
    let contents = contents.as_ref().unwrap_or(&empty);
    context! {
        title => shown(name),
        about => about(summary),
        figures => figures(summary, contents),
        reasons => summary.kernel.reasons,
        storage => storage(contents),
        details => details.as_ref().map(drawn),
        presets => presets.as_ref().map(estimated),
        reads => reads.as_ref().map(|reads| reads::drawn(reads, summary.size)),
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

fn figures(summary: &Summary, contents: &Contents) -> [(&'static str, String, String); 5] {
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
    let names = Count(contents.names, "name").to_string();
    [
        ("Image", Bytes(size).to_string(), format!("{} bytes", grouped(size))),
        ("Content", Bytes(bytes).to_string(), format!("stored in {}", Bytes(contents.stored))),
        ("Ratio", Share(size, bytes).to_string(), factor(size, bytes)),
        ("Inodes", grouped(summary.inodes), if kinds.is_empty() { names } else { kinds }),
        ("Mounts on", format!("Linux {}", summary.kernel.oldest), "and later".to_owned()),
    ]
}

/// The size of the content divided by the size of the image.
fn factor(size: u64, bytes: u64) -> String {
    let hundredths = (u128::from(bytes) * 100).checked_div(u128::from(size)).unwrap_or(0);
    format!("image to content; {}.{:02} to 1", hundredths / 100, hundredths % 100)
}

/// How data is stored. The stored bytes of fragments are those of the packed inode's extents.
fn storage(contents: &Contents) -> Value {
    let bytes = contents.data.values().fold(0, |sum: u64, tally| sum.saturating_add(tally.bytes));
    context! {
        whole => context! { bytes, stored => contents.stored },
        tallies => contents.data,
        fragment => ExtentKind::Fragment.name(),
    }
}

/// Treemaps, maps and tables.
fn drawn(details: &Details) -> Value {
    let Details { folders, types, packed_rest, largest, duplicates, .. } = details;
    let treemaps = |draw: &dyn Fn(By) -> Vec<Tile>| context! { before => draw(By::Bytes), after => draw(By::Stored) };
    context! {
        height => format!("{:.0}", treemap::HEIGHT),
        whole => folders.all,
        folders => treemaps(&|by| treemap::of_folders(folders, by)),
        types => treemaps(&|by| treemap::of_types(types, by)),
        root => anchor(""),
        folder_list => folders.folders.iter().map(|inner| folder(inner, "")).collect::<Vec<_>>(),
        type_list => type_list(types),
        packed_rest,
        largest => files(largest),
        largest_sums => largest_sums(largest),
        duplicates => [
            ("Hard links (further names of files)", duplicates.hard_links),
            ("Files that are equal to another one", duplicates.whole_files),
            ("Files that share a part with another one", duplicates.parts),
        ],
        equal => details.equal_files.as_ref().map(equal),
        maps => details.devices_map.iter().filter_map(strip::map).collect::<Vec<_>>(),
    }
}

/// The files with most bytes and those with most stored bytes, each once, by descending bytes.
fn files(largest: &Largest) -> Vec<(String, &LargeFile)> {
    let Largest { by_bytes, by_stored, .. } = largest;
    let others =
        by_stored.iter().filter(|file| by_bytes.iter().all(|known| known.path != file.path));
    let mut files: Vec<_> = by_bytes.iter().chain(others).collect();
    files.sort_by_key(|file| Reverse(file.bytes));
    files.into_iter().map(|file| (shown(&file.path.0), file)).collect()
}

/// The most bytes of a file, and the most stored bytes.
fn largest_sums(largest: &Largest) -> Sums {
    let bytes = largest.by_bytes.first().map_or(0, |file| file.bytes);
    let stored = largest.by_stored.first().map_or(0, |file| file.stored);
    Sums { files: 1, bytes, stored }
}

/// A folder in the one at `above`, a path without a slash at its end.
fn folder(outer: &Folder, above: &str) -> Value {
    let path = format!("{above}/{}", shown(&outer.name.0));
    let files = outer.large_files.iter().map(|file| (shown(&file.name.0), file));
    context! {
        id => anchor(&path),
        name => shown(&outer.name.0),
        files => Count(outer.all.files, "file").to_string(),
        sums => outer.all,
        folders => outer.folders.iter().map(|inner| folder(inner, &path)).collect::<Vec<_>>(),
        large_files => files.collect::<Vec<_>>(),
    }
}

fn type_list(types: &[TypeSums]) -> Vec<(String, String, Sums)> {
    let mut rows: Vec<_> = types
        .iter()
        .take(TYPES)
        .map(|sums| (anchor(&sums.name), sums.name.clone(), sums.all))
        .collect();
    let others = types.get(TYPES..).unwrap_or_default();
    if !others.is_empty() {
        let mut all = Sums::default();
        for sums in others {
            all.add(&sums.all);
        }
        rows.push((
            "other-types".to_owned(),
            Count(others.len() as u64, "other type").to_string(),
            all,
        ));
    }
    rows
}

/// Equal files that are stored several times.
fn equal(equal: &EqualFiles) -> Value {
    let row = |group: &EqualGroup| {
        let paths: Vec<_> = group.paths.iter().map(|path| shown(&path.0)).collect();
        let more = group.files.saturating_sub(paths.len() as u64);
        (paths, more, group.bytes, group.stored)
    };
    let (bytes, stored) = (Bytes(equal.bytes), Bytes(equal.stored));
    let summary = match equal.copies {
        0 => "None.".to_owned(),
        1 => format!("1 further copy of {bytes}, which takes {stored}."),
        copies => format!("{} further copies of {bytes}, which take {stored}.", grouped(copies)),
    };
    context! { summary, rows => equal.largest.iter().map(row).collect::<Vec<_>>() }
}

fn estimated(estimates: &Estimates) -> Value {
    let images = estimates.presets.iter().map(|preset| preset.image);
    context! { largest => images.fold(estimates.now, u64::max), ..Value::from_serialize(estimates) }
}
