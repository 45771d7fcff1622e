//! Tests of the reader on golden and damaged images.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test may fail by panicking"
)]

mod bad;
mod common;
mod conveniences;
mod golden;
