//! Makes the values on a page about two images, which the template formats.

use minijinja::{Value, context};

use super::text::{delta, grouped, shown};
use crate::{
    facts::{Changes, Compared, Comparison, FileFate, FolderChange},
    number::{Bytes, Count, Share},
};

/// Types with a row of their own.
const TYPES: usize = 20;

/// All that is on a page about two images of these names.
pub(super) fn comparison(names: [&[u8]; 2], found: &Comparison) -> Value {
    let files = found.files.iter().map(|file| {
        let fate = match file.change {
            FileFate::Added => "added",
            FileFate::Removed => "removed",
            FileFate::Changed => "",
        };
        (shown(&file.path.0), fate, context! { before => file.before, after => file.after })
    });
    let types = found.types.iter().take(TYPES);
    context! {
        titles => names.map(shown),
        figures => figures(found),
        folders => found.folders.folders.iter().map(folder).collect::<Vec<_>>(),
        files => files.collect::<Vec<_>>(),
        more => (found.more_files > 0).then(|| grouped(found.more_files)),
        types => types.collect::<Vec<_>>(),
        about => about(&found.images),
    }
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

fn folder(folder_change: &FolderChange) -> Value {
    let FolderChange { name, before, after, names, folders } = folder_change;
    context! {
        name => shown(&name.0),
        before,
        after,
        changes => if names.total() == 0 { String::new() } else { changes(names) },
        folders => folders.iter().map(folder).collect::<Vec<_>>(),
    }
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
