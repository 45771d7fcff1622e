//! Writes a page about two images.

use lith_markup::{Html, html};

use super::{
    parts,
    text::{delta, grouped, shown},
};
use crate::{
    facts::{Changes, Compared, Comparison, FileChange, FileFate, FolderChange, Sums},
    number::{Bytes, Count, Share},
};

/// Types with a row of their own.
const TYPES: usize = 20;

/// What the title says of images of these names.
pub(super) fn title(names: [&[u8]; 2]) -> String {
    let [before, after] = names.map(shown);
    format!("{before} and {after}: what changed")
}

pub(super) fn header(page: &mut Html, names: [&[u8]; 2]) {
    let [before, after] = names.map(shown);
    html!(page, "<p>Two EROFS images</p>\n<h1><bdi>", before, "</bdi> \u{2192} <bdi>", after);
    html!(page, "</bdi></h1>\n");
}

/// All that is between the header and the footer.
pub(super) fn main(page: &mut Html, found: &Comparison) {
    parts::figures(page, &figures(found));
    html!(
        page,
        "<section id=\"folders\">\n<h2>What changed: folders</h2>\n\
         <p>Stored bytes before and after, and how many names below each folder differ. Folders without changes are left out. \
         Data that several files share counts for the first of them.</p>\n",
    );
    let folders = &found.folders.folders;
    if folders.is_empty() {
        html!(page, "<p class=\"note\">No folder changed.</p>\n");
    }
    for (number, inner) in folders.iter().enumerate() {
        folder(page, inner, number == 0);
    }
    html!(page, "</section>\n<section id=\"files\">\n<h2>Files that changed</h2>\n");
    files(page, found);
    html!(page, "</section>\n");
    if !found.types.is_empty() {
        types(page, found);
    }
    html!(
        page,
        "<section id=\"about\">\n<h2>About the images</h2>\n<div class=\"table\"><table>\n\
         <thead><tr><th></th><th>Before</th><th>After</th></tr></thead>\n<tbody>\n",
    );
    for (name, before, after) in about(&found.images) {
        html!(page, "<tr><td>", name, "</td><td>", before, "</td><td>", after, "</td></tr>\n");
    }
    html!(page, "</tbody></table></div>\n</section>\n");
}

fn figures(found: &Comparison) -> [(&'static str, String, String); 4] {
    let [before, after] = &found.images;
    let of = |name, before: u64, after: u64| {
        let growth = Share(before.abs_diff(after), before);
        let note = format!("{} \u{2192} {} ({growth})", Bytes(before), Bytes(after));
        (name, delta(after, before), note)
    };
    let names = &found.names;
    let files = format!("{} \u{2192} {}", grouped(before.all.files), grouped(after.all.files));
    [
        of("Image", before.size, after.size),
        of("Content", before.all.bytes, after.all.bytes),
        of("Stored", before.all.stored, after.all.stored),
        ("Names that differ", grouped(names.total()), format!("{}; files {files}", changes(names))),
    ]
}

/// Numbers of names that differ; empty if there are none.
fn changes(names: &Changes) -> String {
    let kinds = [
        (names.added, "added"),
        (names.removed, "removed"),
        (names.changed, "changed"),
        (names.attributes, "with other attributes"),
    ];
    let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
    let kinds = kinds.map(|(count, kind)| format!("{} {kind}", grouped(count)));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    if kinds.is_empty() { "none".to_owned() } else { kinds }
}

fn folder(page: &mut Html, change: &FolderChange, is_open: bool) {
    let name = shown(&change.name.0);
    if change.folders.is_empty() {
        html!(page, "<div class=\"leaf\"><bdi>", name, "</bdi>/ <span class=\"faint\">");
        line(page, change);
        html!(page, "</span></div>\n");
        return;
    }
    html!(page, "<details");
    if is_open {
        html!(page, " open");
    }
    html!(page, "><summary><bdi>", name, "</bdi>/ <span class=\"faint\">");
    line(page, change);
    html!(page, "</span></summary>\n");
    for inner in &change.folders {
        folder(page, inner, false);
    }
    html!(page, "\n</details>\n");
}

fn line(page: &mut Html, folder: &FolderChange) {
    let FolderChange { before, after, names, .. } = folder;
    html!(page, Bytes(before.stored), " \u{2192} ", Bytes(after.stored), ", <span class=\"");
    html!(page, verdict(before, after), "\">", delta(after.stored, before.stored), "</span>");
    if names.total() > 0 {
        html!(page, "; ", changes(names));
    }
}

/// The class of a difference between stored bytes.
const fn verdict(before: &Sums, after: &Sums) -> &'static str {
    if after.stored < before.stored { "better" } else { "worse" }
}

fn files(page: &mut Html, found: &Comparison) {
    if found.files.is_empty() {
        html!(page, "<p class=\"note\">No file was added, removed or changed.</p>\n");
        return;
    }
    html!(page, "<p>Those whose stored bytes changed most");
    if found.more_files > 0 {
        html!(page, "; ", grouped(found.more_files), " are not listed");
    }
    html!(page, ".</p>\n");
    heads(page, "File");
    for FileChange { path, change, before, after } in &found.files {
        let fate = match change {
            FileFate::Added => "added",
            FileFate::Removed => "removed",
            FileFate::Changed => "",
        };
        html!(
            page,
            "<tr><td class=\"path\"><bdi>",
            shown(&path.0),
            "</bdi> <span class=\"faint\">"
        );
        html!(page, fate, "</span></td>");
        sums(page, before, after);
    }
    html!(page, "</tbody></table></div>\n");
}

fn types(page: &mut Html, found: &Comparison) {
    html!(page, "<section id=\"types\">\n<h2>What grew: types of files</h2>\n");
    heads(page, "Type");
    for row in found.types.iter().take(TYPES) {
        html!(page, "<tr><td>", row.name, "</td>");
        sums(page, &row.before, &row.after);
    }
    html!(page, "</tbody></table></div>\n</section>\n");
}

/// The beginning of a table of [`sums()`].
fn heads(page: &mut Html, what: &str) {
    html!(
        page,
        "<div class=\"table\"><table>\n<thead><tr><th>",
        what,
        "</th><th class=\"number\">Bytes before</th><th class=\"number\">after</th><th class=\"number\">Stored before</th>\
         <th class=\"number\">after</th><th class=\"number\">Change</th></tr></thead>\n<tbody>\n",
    );
}

/// The cells of sums before and after, which end a row.
fn sums(page: &mut Html, before: &Sums, after: &Sums) {
    for bytes in [before.bytes, after.bytes, before.stored, after.stored] {
        html!(page, "<td class=\"number\">", Bytes(bytes), "</td>");
    }
    html!(page, "<td class=\"number ", verdict(before, after), "\">");
    html!(page, delta(after.stored, before.stored), "</td>\n</tr>\n");
}

fn about(images: &[Compared; 2]) -> Vec<(&'static str, String, String)> {
    let list = |names: &[&str]| if names.is_empty() { "none".into() } else { names.join(", ") };
    let row = |name, of: &dyn Fn(&Compared) -> String| {
        let [before, after] = images.each_ref().map(of);
        (name, before, after)
    };
    vec![
        row("Size", &|image| format!("{} bytes", grouped(image.size))),
        row("Files", &|image| Count(image.all.files, "file").to_string()),
        row("Mounts on", &|image| format!("Linux {} and later", image.oldest_kernel)),
        row("Algorithms", &|image| list(&image.algorithms)),
        row("Features", &|image| list(&image.features)),
    ]
}
