//! Does the program do, by the names of erofs-utils, what erofs-utils do?
//!
//! Each command line is given to both; exit codes and what comes out are compared. What differs on purpose is listed in
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
