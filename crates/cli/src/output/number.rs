//! Formats sizes, counts and shares; re-exported from the report crate, so that both print the same.

pub(crate) use lith_report::number::{Bytes, Count, Share, ratio};
