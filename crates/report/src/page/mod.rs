//! How do facts about an image become a web page?
//!
//! The page is one file that loads nothing and has no scripts. Treemaps and maps are drawn here, in percent of a width
//! that only the browser knows.

mod comparison;
mod context;
mod reads;
mod strip;
mod text;
mod treemap;

use minijinja::{
    AutoEscape, Environment, UndefinedBehavior, Value, context, filters, functions, tests,
};

use crate::{
    error::PageError,
    facts::{Comparison, Facts},
    number::{Bytes, Share},
};

/// The generator that each page names near its beginning; a version follows.
pub const GENERATOR: &str = "lith report";

const TEMPLATE: &str = include_str!("template.html");
const COMPARISON: &str = include_str!("comparison.html");
const STYLE: &str = include_str!("style.css");

/// Makes a web page about the image `name`.
///
/// # Errors
/// [`PageError`] if the template does not fit the facts, which no image should cause.
pub fn page(name: &[u8], facts: &Facts) -> Result<String, PageError> {
    render(TEMPLATE, &context::page(name, facts))
}

/// Makes a web page about what differs between two images of these names.
///
/// # Errors
/// As [`page()`].
pub fn comparison_page(names: [&[u8]; 2], found: &Comparison) -> Result<String, PageError> {
    render(COMPARISON, &comparison::comparison(names, found))
}

fn render(template: &str, page: &Value) -> Result<String, PageError> {
    // With all of its own filters the program would be larger by what no template here uses.
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    let style = Value::from_safe_string(STYLE.to_owned());
    environment.add_filter("default", filters::default);
    environment.add_filter("items", filters::items);
    environment.add_function("range", functions::range);
    environment.add_test("none", tests::is_none);
    environment.add_filter("bytes", |number: u64| Bytes(number).to_string());
    environment.add_filter("grouped", text::grouped);
    environment.add_function("share", |part: u64, whole: u64| Share(part, whole).to_string());
    environment.add_function("percent", text::percent);
    environment.add_function("change", text::change);
    environment.add_function("delta", text::delta);
    let template = environment.template_from_named_str("page.html", template)?;
    Ok(template.render(
        context! { style, page, generator => GENERATOR, version => env!("CARGO_PKG_VERSION") },
    )?)
}
