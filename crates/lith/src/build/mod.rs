//! How does a source become an image that can be relied on?

mod builder;
mod companion;
mod flush;
mod hidden;
mod input;
mod make;
mod protection;
mod replaceable;
mod staged;
mod unmatched;
mod unreadable;
mod verify;

pub use builder::{Builder, Built};
pub use hidden::{Hidden, remove_hidden};
pub use protection::{HashTree, Protection, RootHashFile, TreePlace, image_bytes, protect};
pub use replaceable::is_replaceable;
pub(crate) use staged::Staged;
pub use staged::temporary_directory;
