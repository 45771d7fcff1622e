//! What does an image say about itself as a whole?
//!
//! [`Superblock`] holds the fields, checked; the checksum covers all of block 0.

mod checksum;
mod error;
mod fields;
mod raw;
#[cfg(test)]
mod tests;

pub use self::{
    checksum::{checksum, checksummed_size, verify_checksum},
    error::SuperblockError,
    fields::Superblock,
};

/// Where the superblock begins, in bytes from the image's start.
pub const SUPERBLOCK_POSITION: u64 = 1024;
/// The first field's value in every image.
pub const MAGIC: u32 = 0xE0F5_E1E2;
/// Bytes in a superblock without ext slots.
pub const SUPERBLOCK_SIZE: usize = 128;
/// Bytes in an ext slot.
pub const EXT_SLOT_SIZE: usize = 16;
/// The superblock must end within the first 4 KiB page.
const MAX_SIZE: usize = 4096 - 1024;
