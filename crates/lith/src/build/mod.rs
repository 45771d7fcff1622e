//! How does a source become an image that can be relied on?

mod builder;
mod flush;
mod hidden;
mod input;
mod make;
mod replaceable;
mod staged;
mod unmatched;
mod unreadable;
mod verify;

pub use builder::{Builder, Built};
pub use hidden::{Hidden, remove_hidden};
pub(crate) use staged::Staged;
pub use staged::temporary_directory;
