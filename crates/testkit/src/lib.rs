//! How do we know? Trees to build images of, oracles that report what an image holds, and entry points for fuzzers.
//!
//! This crate is only for tests: every failure is a panic that gives the reason. A check that this machine can't make
//! is skipped, which is reported ([`tier`]).
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::missing_panics_doc,
    reason = "a helper that fails is a test that fails, and should say so at once"
)]

pub mod azure;
pub mod changing;
pub mod chunks;
pub mod compare;
pub mod corpus;
pub mod cutting;
pub mod fuzz;
pub mod golden;
pub mod guest;
pub mod hostile;
pub mod image;
pub mod layouts;
pub mod matrix;
pub mod metabox;
pub mod mutation;
pub mod nasty;
pub mod noise;
pub mod oracle;
pub mod place;
pub mod placed;
pub mod planted;
pub mod recipe;
pub mod registry;
pub mod rules;
pub mod s3;
pub mod server;
pub mod synthetic;
pub mod tarball;
pub mod tier;
pub mod web;
