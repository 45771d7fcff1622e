//! Are directories and archives read as they are, and is all that is wrong with them told?
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::too_many_lines,
    reason = "in tests a panic is how a failure is told"
)]

mod common;
mod containers;
mod cpio;
mod directory;
mod squashfs;
mod tar_equals_directory;
mod tar_hostile;
mod tar_members;
mod tar_modes;
mod zip;
