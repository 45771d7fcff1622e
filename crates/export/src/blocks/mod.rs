//! How are the blocks of an image described to other programs?

mod list;
mod vmdk;

pub use list::{ListError, block_list, source_map};
pub use vmdk::vmdk_descriptor;
