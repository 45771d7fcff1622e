//! How does lith compare with other filesystems?
//!
//! [`results`] is what was measured.
#![forbid(unsafe_code)]

pub mod results;
