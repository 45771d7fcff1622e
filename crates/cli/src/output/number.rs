//! How are sizes and shares shown to people?

pub(crate) use lith_report::number::{Bytes, Count, Share, ratio};
