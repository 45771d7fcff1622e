//! How are results shown? Renders them as Markdown, HTML, pictures and JSON, and inside documents.

pub(crate) mod documents;
mod grid;
mod html;
mod json;
mod markdown;
mod plot;
mod prose;
#[cfg(test)]
mod tests;
mod units;

pub(crate) use html::page;
pub(crate) use json::json;
pub(crate) use markdown::markdown;
#[cfg(test)]
use tests::samples;
