//! How are results shown? Renders them as Markdown, HTML, pictures and JSON, and inside documents.

#[cfg(test)]
mod browser;
pub mod documents;
mod grid;
mod html;
mod json;
mod markdown;
mod plot;
mod prose;
#[cfg(test)]
mod samples;
mod units;

pub use html::{RenderError, html};
pub use json::{LoadError, json, load};
pub use markdown::markdown;
pub use plot::svg;
