//! Compares the applets with the programs of erofs-utils.
//!
//! Each command line is run with both; exit codes and output are compared. Intended differences are listed in
//! docs/compat.md.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "in tests failures should be loud"
)]

mod bed;
mod containers;
mod digest;
mod inspect;
mod mkfs;
