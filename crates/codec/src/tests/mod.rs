//! Tests of encoders against the libraries they replace, which the public API does not reach.

#[path = "../../tests/all/common.rs"]
mod common;
mod deflate;
mod yardsticks;
