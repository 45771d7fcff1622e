//! Writes what several sections of a page have in common.

use lith_markup::{Html, html};

use super::{
    text::percent,
    treemap::{HEIGHT, Tile},
};
use crate::{
    facts::Sums,
    number::{Bytes, Share},
};

/// The head of a table with a row for each of something, whose column of bars is `of` something.
pub(super) fn heads(page: &mut Html, what: &str, count: Option<&str>, of: &str) {
    html!(page, "<thead><tr><th>", what, "</th>");
    if let Some(count) = count {
        html!(page, "<th class=\"number count\">", count, "</th>");
    }
    html!(
        page,
        "<th class=\"number\">Before</th><th class=\"number\">After</th><th class=\"number\">Stored</th>",
        "<th class=\"bars\">",
        of,
        "</th></tr></thead>\n",
    );
}

/// The cells of sums, with bars of their parts of a whole. The stored bytes of what is packed are those of another row.
pub(super) fn sums(page: &mut Html, row: &Sums, whole: &Sums, is_packed: bool) {
    html!(page, "<td class=\"number\">", Bytes(row.bytes), "</td><td class=\"number\">");
    if is_packed {
        html!(page, "(packed)</td><td class=\"number\">-");
    } else {
        let share = Share(row.stored, row.bytes);
        html!(page, Bytes(row.stored), "</td><td class=\"number\">", share);
    }
    html!(
        page,
        "</td><td class=\"bars\"><span class=\"bar before\"><i style=\"width:",
        percent(row.bytes, whole.bytes),
        "\"></i></span><span class=\"bar\"><i style=\"width:",
        percent(row.stored, whole.stored),
        "\"></i></span></td>\n",
    );
}

/// What the columns of [`sums()`] show.
pub(super) fn legend(page: &mut Html, of: &str) {
    html!(
        page,
        "<p class=\"note\">Stored: bytes after, in percent of those before. Bars: <span class=\"key before\"></span> before and \
         <span class=\"key\"></span> after, as parts of ",
        of,
        ".</p>\n",
    );
}

/// Two treemaps: before compression, and after.
pub(super) fn treemaps(page: &mut Html, what: &str, before: &[Tile], after: &[Tile]) {
    html!(
        page,
        "<div class=\"pair\">\n<figure><figcaption><b>Before</b>: bytes of files</figcaption>"
    );
    treemap(page, &format!("{what} before compression"), before);
    html!(page, "</figure>\n<figure><figcaption><b>After</b>: bytes in the image</figcaption>");
    treemap(page, &format!("{what} after compression"), after);
    html!(page, "</figure>\n</div>\n<div class=\"scale\"><span>after / before: 0 %</span>");
    scale(page);
    html!(page, "<span>100 %</span><span>Touch an area to see its numbers below.</span></div>\n\n");
}

fn treemap(page: &mut Html, name: &str, tiles: &[Tile]) {
    let height = format!("{HEIGHT:.0}");
    html!(
        page,
        "<svg class=\"tree\" height=\"",
        height,
        "\" role=\"group\" aria-label=\"",
        name,
        "\">\n",
    );
    for tile in tiles {
        draw(page, tile);
    }
    html!(page, "</svg>\n");
}

fn draw(page: &mut Html, tile: &Tile) {
    let Tile { x, y, width, height, .. } = tile;
    html!(page, "<a href=\"#", tile.target, "\"><title>", tile.title, "</title>");
    html!(page, "<rect class=\"r", tile.step, "\" x=\"", x, "\" y=\"", y);
    html!(page, "\" width=\"", width, "\" height=\"", height, "\"/>");
    if let Some(label) = &tile.label {
        html!(page, "<text");
        if tile.wide_only {
            html!(page, " class=\"wide\"");
        }
        html!(page, " x=\"", x, "\" dx=\"4\" y=\"", tile.baseline, "\">", label, "</text>");
    }
    html!(page, "</a>\n");
}

/// The colours from the first step to the last.
pub(super) fn scale(page: &mut Html) {
    html!(page, "<svg height=\"14\" aria-hidden=\"true\">");
    for step in 0..10 {
        html!(
            page,
            "<rect class=\"r",
            step,
            "\" x=\"",
            step * 10,
            "%\" width=\"10%\" height=\"14\"/>"
        );
    }
    html!(page, "</svg>");
}

/// Large numbers at the beginning of a page: what each is, the number, and a note.
pub(super) fn figures(page: &mut Html, figures: &[(&str, String, String)]) {
    html!(page, "<dl class=\"figures\">\n");
    for (name, value, note) in figures {
        html!(page, "<div><dt>", name, "</dt><dd class=\"value\">", value);
        html!(page, "</dd><dd class=\"note\">", note, "</dd></div>\n");
    }
    html!(page, "</dl>\n");
}
