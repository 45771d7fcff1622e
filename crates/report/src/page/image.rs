//! Writes a page about one image.

use lith_markup::{Html, html};
use lith_reader::ExtentKind;

use super::{
    details, parts, presets, reads,
    text::{grouped, shown},
};
use crate::{
    facts::{Contents, Facts, Requirement, Summary, Sums},
    number::{Bytes, Count, Share},
};

/// What the title says of an image of this name.
pub(super) fn title(name: &[u8]) -> String {
    format!("{}: where the bytes go", shown(name))
}

pub(super) fn header(page: &mut Html, name: &[u8]) {
    html!(page, "<p>EROFS image</p>\n<h1><bdi>", shown(name), "</bdi></h1>\n");
}

/// All that is between the header and the footer.
pub(super) fn main(page: &mut Html, facts: &Facts) {
    let Facts { summary, contents, details, presets, reads } = facts;
    let empty = Contents::default();
    let contents = contents.as_ref().unwrap_or(&empty);
    parts::figures(page, &figures(summary, contents));
    if let Some(details) = details {
        details::by_name(page, details);
    }
    storage(page, contents);
    if let Some(presets) = presets {
        presets::section(page, presets);
    }
    if let Some(reads) = reads {
        reads::section(page, reads, summary.size);
    }
    if let Some(details) = details {
        details::by_place(page, details);
    }
    html!(page, "<section id=\"about\">\n<h2>About the image</h2>\n<dl class=\"about\">\n");
    for (name, value) in about(summary) {
        html!(page, "<div><dt>", name, "</dt><dd><bdi>", value, "</bdi></dd></div>\n");
    }
    for Requirement { since, what } in &summary.kernel.reasons {
        html!(page, "<div><dt>Linux ", since, "</dt><dd>needed for ", what, "</dd></div>\n");
    }
    html!(page, "</dl>\n</section>\n");
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
fn storage(page: &mut Html, contents: &Contents) {
    let bytes = contents.data.values().fold(0, |sum: u64, tally| sum.saturating_add(tally.bytes));
    let whole = Sums { files: 0, bytes, stored: contents.stored };
    html!(
        page,
        "<section id=\"storage\">\n<h2>Ratio by algorithm</h2>\n\
         <p>How the data of files is stored. Fragments are stored in the packed inode, whose extents are counted by their own \
         algorithm.</p>\n<div class=\"table\"><table>\n",
    );
    parts::heads(page, "Stored as", Some("Extents"), "Of all");
    html!(page, "<tbody>\n");
    for (name, tally) in &contents.data {
        html!(
            page,
            "<tr><td>",
            name,
            "</td><td class=\"number count\">",
            grouped(tally.extents),
            "</td>"
        );
        let row = Sums { files: 0, bytes: tally.bytes, stored: tally.stored };
        parts::sums(page, &row, &whole, *name == ExtentKind::Fragment.name());
        html!(page, "</tr>\n");
    }
    html!(page, "</tbody></table></div>\n</section>\n");
}
