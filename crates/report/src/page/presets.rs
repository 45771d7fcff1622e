//! Writes what the image would take with other presets.

use lith_markup::{Html, html};

use super::text::{change, percent};
use crate::{
    facts::{Estimate, Estimates},
    number::Bytes,
};

pub(super) fn section(page: &mut Html, found: &Estimates) {
    html!(page, "<section id=\"presets\">\n<h2>What another preset would save</h2>\n");
    if found.is_whole {
        html!(
            page,
            "<p>The image was built again with each preset of <code>lith build</code>.</p>\n"
        );
    } else {
        sampled(page, found);
    }
    let largest = found.presets.iter().map(|preset| preset.image).fold(found.now, u64::max);
    html!(
        page,
        "<div class=\"table\"><table>\n<thead><tr><th>Preset</th><th>Meaning</th><th class=\"number\">Image</th>\
         <th class=\"number\">Change</th><th class=\"bars\"></th></tr></thead>\n<tbody>\n\
         <tr><td>this image</td><td></td><td class=\"number\">",
        Bytes(found.now),
        "</td><td class=\"number worse\"></td><td class=\"bars\"><span class=\"bar before\"><i style=\"width:",
        percent(found.now, largest),
        "\"></i></span></td></tr>\n",
    );
    for preset in &found.presets {
        row(page, preset, found.now, largest);
    }
    html!(page, "</tbody></table></div>\n</section>\n");
}

fn sampled(page: &mut Html, found: &Estimates) {
    html!(
        page,
        "<p>Estimated: ",
        Bytes(found.sample_bytes),
        " of the content, sampled at even distances, were built with each preset of <code>lith build</code> and compared with \
         their stored size in this image. What larger data gain by repeats is inferred from two halves of the sample.",
    );
    if let Some(own) = &found.own {
        html!(page, " The image seems to be made with <code>", own, "</code>.");
    }
    html!(page, "</p>\n");
}

fn row(page: &mut Html, preset: &Estimate, now: u64, largest: u64) {
    let Estimate { name, image, .. } = preset;
    html!(page, "<tr><td>", name, "</td><td class=\"faint\">", meaning(name));
    html!(page, "</td><td class=\"number\">", Bytes(*image), "</td><td class=\"number ");
    html!(page, if *image < now { "better" } else { "worse" }, "\">", change(*image, now));
    html!(page, "</td><td class=\"bars\"><span class=\"bar\"><i style=\"width:");
    html!(page, percent(*image, largest), "\"></i></span></td></tr>\n");
}

fn meaning(preset: &str) -> &'static str {
    match preset {
        "fast" => "quickest to build",
        "balanced" => "the default: small, and quick to read",
        "small" => "much smaller; reads decompress about 100 MB/s per core",
        "smallest" => "for archives; a small read decompresses 1 MiB and more",
        _ => "",
    }
}
