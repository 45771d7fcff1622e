//! Writes the sections about folders, types of files, the map and repeats.

use std::cmp::Reverse;

use lith_markup::{Html, html};

use super::{
    parts, strip,
    text::{anchor, grouped, shown},
    treemap::{self, By},
};
use crate::{
    facts::{
        Details, Duplicates, EqualFiles, EqualGroup, Folder, FolderFile, LargeFile, Largest, Sums,
        TypeSums,
    },
    number::{Bytes, Count, Share},
};

/// Types with a row of their own.
const TYPES: usize = 20;

/// Where the bytes of files go: by folder and by type.
pub(super) fn by_name(page: &mut Html, details: &Details) {
    let Details { folders, types, .. } = details;
    html!(
        page,
        "<section id=\"folders\">\n<h2>Where the bytes go: folders</h2>\n\
         <p>Each area is a folder or a large file; its size is its share of all bytes. Data that several files share counts for \
         the first of them.</p>\n",
    );
    let treemap = |by| treemap::of_folders(folders, by);
    parts::treemaps(page, "Folders", &treemap(By::Bytes), &treemap(By::Stored));
    html!(page, "<h3>Folders one by one</h3>\n<div id=\"", anchor(""), "\"></div>\n");
    for inner in &folders.folders {
        folder(page, inner, "");
    }
    html!(
        page,
        "</section>\n<section id=\"types\">\n<h2>Where the bytes go: types of files</h2>\n\
         <p>By file name extension; files without one by their first bytes.</p>\n",
    );
    parts::legend(page, "all bytes");
    let treemap = |by| treemap::of_types(types, by);
    parts::treemaps(page, "Types of files", &treemap(By::Bytes), &treemap(By::Stored));
    type_table(page, details);
    html!(page, "</section>\n");
}

/// A folder in the one at `above`, a path without a slash at its end.
fn folder(page: &mut Html, outer: &Folder, above: &str) {
    let name = shown(&outer.name.0);
    let path = format!("{above}/{name}");
    let is_leaf = outer.folders.is_empty() && outer.large_files.is_empty();
    if is_leaf {
        html!(page, "<div class=\"leaf\" id=\"", anchor(&path));
    } else {
        html!(page, "<details><summary id=\"", anchor(&path));
    }
    html!(page, "\"><bdi>", name, "</bdi>/ <span class=\"faint\">", compressed(&outer.all));
    html!(page, ", ", Count(outer.all.files, "file"), "</span>");
    if is_leaf {
        html!(page, "</div>\n");
        return;
    }
    html!(page, "</summary>\n");
    for inner in &outer.folders {
        folder(page, inner, &path);
    }
    html!(page, "\n");
    for file in &outer.large_files {
        leaf(page, file);
    }
    html!(page, "</details>\n");
}

fn leaf(page: &mut Html, file: &FolderFile) {
    html!(page, "<div class=\"leaf\"><bdi>", shown(&file.name.0), "</bdi> <span class=\"faint\">");
    html!(page, compressed(&file.sums()), "</span></div>\n");
}

fn compressed(sums: &Sums) -> String {
    let share = Share(sums.stored, sums.bytes);
    format!("{} \u{2192} {} ({share})", Bytes(sums.bytes), Bytes(sums.stored))
}

fn type_table(page: &mut Html, details: &Details) {
    html!(page, "<div class=\"table\"><table>\n");
    parts::heads(page, "Type", Some("Files"), "Of all");
    html!(page, "<tbody>\n");
    for (id, name, row) in type_list(&details.types) {
        html!(page, "<tr id=\"", id, "\"><td>", name, "</td><td class=\"number count\">");
        html!(page, grouped(row.files), "</td>");
        parts::sums(page, &row, &details.folders.all, false);
        html!(page, "</tr>\n");
    }
    html!(page, "</tbody></table></div>\n");
    if details.packed_rest > 0 {
        html!(page, "<p class=\"note\">The packed inode also holds ", Bytes(details.packed_rest));
        html!(page, " that belong to no file: directories and xattr name prefixes.</p>\n");
    }
}

/// For each row its id, name and sums.
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

/// What is stored where, and what is stored once.
pub(super) fn by_place(page: &mut Html, details: &Details) {
    html!(page, "<section id=\"map\">\n<h2>What is stored where</h2>\n");
    strip::maps(page, &details.devices_map);
    html!(
        page,
        "</section>\n<section id=\"largest\">\n<h2>Largest files</h2>\n\
         <p>Those with most bytes, and those that take most of the image.</p>\n",
    );
    parts::legend(page, "the largest of these files");
    largest(page, &details.largest);
    html!(
        page,
        "</section>\n<section id=\"duplicates\">\n<h2>Stored once instead of several times</h2>\n",
    );
    duplicates(page, &details.duplicates);
    if let Some(found) = &details.equal_files {
        equal(page, found);
    }
    html!(page, "</section>\n");
}

fn largest(page: &mut Html, found: &Largest) {
    let whole = largest_sums(found);
    html!(page, "<div class=\"table\"><table>\n");
    parts::heads(page, "File", None, "Of the largest");
    html!(page, "<tbody>\n");
    for LargeFile { path, bytes, stored } in files(found) {
        html!(page, "<tr><td class=\"path\"><bdi>", shown(&path.0), "</bdi></td>");
        parts::sums(page, &Sums { files: 1, bytes: *bytes, stored: *stored }, &whole, false);
        html!(page, "</tr>\n");
    }
    html!(page, "</tbody></table></div>\n\n");
}

/// The files with most bytes and those with most stored bytes, each once, by descending bytes.
fn files(largest: &Largest) -> Vec<&LargeFile> {
    let Largest { by_bytes, by_stored, .. } = largest;
    let others =
        by_stored.iter().filter(|file| by_bytes.iter().all(|known| known.path != file.path));
    let mut files: Vec<_> = by_bytes.iter().chain(others).collect();
    files.sort_by_cached_key(|file| Reverse(file.bytes));
    files
}

/// The most bytes of a file, and the most stored bytes.
fn largest_sums(largest: &Largest) -> Sums {
    let bytes = largest.by_bytes.first().map_or(0, |file| file.bytes);
    let stored = largest.by_stored.first().map_or(0, |file| file.stored);
    Sums { files: 1, bytes, stored }
}

fn duplicates(page: &mut Html, found: &Duplicates) {
    html!(
        page,
        "<div class=\"table\"><table>\n<thead><tr><th>What</th><th class=\"number\">How many</th>\
         <th class=\"number\">Bytes saved</th></tr></thead>\n<tbody>\n",
    );
    let rows = [
        ("Hard links (further names of files)", found.hard_links),
        ("Files that are equal to another one", found.whole_files),
        ("Files that share a part with another one", found.parts),
    ];
    for (name, repeats) in rows {
        html!(page, "<tr><td>", name, "</td><td class=\"number\">", grouped(repeats.count));
        html!(page, "</td><td class=\"number\">", Bytes(repeats.bytes), "</td></tr>\n");
    }
    html!(page, "</tbody></table></div>\n");
}

/// Equal files that are stored several times.
fn equal(page: &mut Html, found: &EqualFiles) {
    let (bytes, stored) = (Bytes(found.bytes), Bytes(found.stored));
    let summary = match found.copies {
        0 => "None.".to_owned(),
        1 => format!("1 further copy of {bytes}, which takes {stored}."),
        copies => format!("{} further copies of {bytes}, which take {stored}.", grouped(copies)),
    };
    html!(page, "<h2>Equal files stored several times</h2>\n<p>", summary, "</p>\n");
    if found.largest.is_empty() {
        return;
    }
    html!(
        page,
        "<div class=\"table\"><table>\n<thead><tr><th>Files</th><th class=\"number\">Each</th>\
         <th class=\"number\">Stored for copies</th></tr></thead>\n<tbody>\n",
    );
    for group in &found.largest {
        equal_row(page, group);
    }
    html!(page, "</tbody></table></div>\n");
}

fn equal_row(page: &mut Html, group: &EqualGroup) {
    html!(page, "<tr><td class=\"path\">");
    for (number, path) in group.paths.iter().enumerate() {
        if number > 0 {
            html!(page, "<br>");
        }
        html!(page, "<bdi>", shown(&path.0), "</bdi>");
    }
    let more = group.files.saturating_sub(group.paths.len() as u64);
    if more > 0 {
        html!(page, "<br><span class=\"note\">and ", more, " more</span>");
    }
    html!(page, "</td><td class=\"number\">", Bytes(group.bytes), "</td><td class=\"number\">");
    html!(page, Bytes(group.stored), "</td></tr>\n");
}
