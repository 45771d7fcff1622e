//! Independent programs that show what an image holds, or a page.

pub mod browser;
mod devtools;
pub mod emulated;
pub mod fuse;
pub mod kernel;
pub mod stats;
pub mod strace;
pub mod tools;
