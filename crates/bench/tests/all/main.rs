//! Tests of the program `lith-bench` and of the documents that show its results.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

mod documents;
mod program;
