//! How do facts about an image become a web page?
//!
//! The page is one file that loads nothing and has no scripts. Treemaps and maps are drawn here, in percent of a width
//! that only the browser knows.

mod comparison;
mod details;
mod image;
mod parts;
mod presets;
mod reads;
mod strip;
mod text;
mod treemap;

use lith_markup::{Html, html};

use crate::facts::{Comparison, Facts};

/// The generator that each page names near its beginning; a version follows.
pub const GENERATOR: &str = "lith report";

/// Makes a web page about the image `name`.
#[must_use]
pub fn page(name: &[u8], facts: &Facts) -> String {
    let mut page = begin(&image::title(name));
    image::header(&mut page, name);
    html!(page, "</header>\n<main>\n");
    image::main(&mut page, facts);
    end(page)
}

/// Makes a web page about what differs between two images of these names.
#[must_use]
pub fn comparison_page(names: [&[u8]; 2], found: &Comparison) -> String {
    let mut page = begin(&comparison::title(names));
    comparison::header(&mut page, names);
    html!(page, "</header>\n<main>\n");
    comparison::main(&mut page, found);
    end(page)
}

fn begin(title: &str) -> Html {
    let mut page = Html::default();
    html!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"",
        GENERATOR,
        " ",
        env!("CARGO_PKG_VERSION"),
        "\">\n<title>",
        title,
        "</title>\n<style>\n",
    );
    page.markup(include_str!("style.css"));
    html!(page, "</style>\n</head>\n<body>\n<header>\n");
    page
}

fn end(mut page: Html) -> String {
    html!(page, "</main>\n<footer>Made by ", GENERATOR, ", version ", env!("CARGO_PKG_VERSION"));
    html!(page, ".</footer>\n</body>\n</html>");
    page.into_string()
}
