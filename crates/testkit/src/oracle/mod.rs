//! Who else says what an image holds, or what a page shows?

pub mod browser;
mod devtools;
pub mod fuse;
pub mod kernel;
pub mod stats;
pub mod tools;
