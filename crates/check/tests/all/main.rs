//! Tests of the checker on golden, broken and hostile images.

mod bad;
mod common;
mod golden;
mod hostile;
