//! Which names does a directory block hold, and how are names packed into blocks?
//!
//! [`DirBlock`] reads one block, [`DirPacker`] writes a directory.

mod block;
mod pack;

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U64},
};

pub use self::{
    block::{DirBlock, search_blocks},
    pack::{DirPacker, directory_size},
};
use crate::{addr::Nid, file_type::FileType};

/// Bytes in a dirent, without its name.
pub const DIRENT_SIZE: usize = 12;
/// Bytes in the longest name.
pub const NAME_MAX: usize = 255;

/// `erofs_dirent`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawDirent {
    nid: U64,
    nameoff: U16,
    file_type: u8,
    reserved: u8,
}
const _: () = assert!(size_of::<RawDirent>() == DIRENT_SIZE);

/// A name in a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dirent<'a> {
    /// The inode that it names.
    pub nid: Nid,
    /// The stored `file_type`, which nothing keeps from being wrong.
    pub raw_type: u8,
    /// The name, of 1 to 255 bytes without slash and NUL.
    pub name: &'a [u8],
}

impl Dirent<'_> {
    /// The file type in the dirent; `None` if it is unknown.
    #[must_use]
    pub fn file_type(&self) -> Option<FileType> {
        FileType::try_from(self.raw_type).ok()
    }
}

/// Why a directory block can't be used, or a name can't be packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirentError {
    /// The first name's offset is not that of a whole number of dirents.
    #[error("the first name's offset {nameoff} is no count of dirents in {size} bytes")]
    FirstNameoff {
        /// The offset; 0 if even the first dirent is cut off.
        nameoff: u16,
        /// Bytes in the block.
        size: usize,
    },
    /// A name is not between the name before it and the block's end.
    #[error("name {index} is from {start} to {end}, out of order or beyond {size} bytes")]
    NameOrder {
        /// The dirent's number in its block.
        index: usize,
        /// Where the name begins in the block.
        start: usize,
        /// Where the next one begins.
        end: usize,
        /// Bytes in the block.
        size: usize,
    },
    /// A name is empty.
    #[error("name {index} is empty")]
    EmptyName {
        /// The dirent's number in its block.
        index: usize,
    },
    /// A name is longer than 255 bytes.
    #[error("name {index} has {length} bytes; {NAME_MAX} is the most")]
    NameTooLong {
        /// The dirent's number in its block.
        index: usize,
        /// The name's length.
        length: usize,
    },
    /// A name has a slash or NUL in it.
    #[error("name {index} has the byte {byte:#04x} in it")]
    ForbiddenByte {
        /// The dirent's number in its block.
        index: usize,
        /// Slash or NUL.
        byte: u8,
    },
    /// Names to be packed don't ascend.
    #[error("name {index} doesn't come after the one before it")]
    Unsorted {
        /// The name's number in the directory.
        index: usize,
    },
}

/// The rules for a single name. `index` is only for the error.
fn check_name(index: usize, name: &[u8]) -> Result<(), DirentError> {
    if name.is_empty() {
        return Err(DirentError::EmptyName { index });
    }
    if name.len() > NAME_MAX {
        return Err(DirentError::NameTooLong { index, length: name.len() });
    }
    match name.iter().find(|byte| matches!(byte, b'/' | 0)) {
        Some(&byte) => Err(DirentError::ForbiddenByte { index, byte }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
