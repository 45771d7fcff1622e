//! How does a source become an image that can be relied on?

mod builder;
mod flush;
mod make;
mod staged;
mod verify;

pub use builder::{Builder, Built};
pub use staged::temporary_directory;
