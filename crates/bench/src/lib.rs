//! How does lith compare with other filesystems?
//!
//! [`run()`] makes images of the same content by lith and by its rivals, mounts and reads them in turn, and returns
//! [`results`]: plain values that need no machine any more. [`render`] shows them.
#![forbid(unsafe_code)]

mod corpus;
mod error;
mod image;
mod machine;
mod mount;
mod process;
mod program;
mod reading;
pub mod render;
pub mod results;
mod run;
mod suite;
mod suites;
mod workplace;

pub use corpus::{Corpora, Names};
pub use error::Error;
pub use run::{Options, run};
pub use suites::list;
