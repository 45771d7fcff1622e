//! What does an image say about itself as a whole?
//!
//! [`Superblock`] holds the fields, checked; the checksum covers all of block 0.

mod checksum;
mod constants;
mod error;
mod fields;
mod raw;
#[cfg(test)]
mod tests;

pub use self::{
    checksum::{checksum, checksummed_size, verify_checksum},
    constants::{EXT_SLOT_SIZE, MAGIC, SUPERBLOCK_POSITION, SUPERBLOCK_SIZE},
    error::SuperblockError,
    fields::Superblock,
};
