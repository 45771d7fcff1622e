//! Defines why something can't be read from an image.

use std::fmt;

use lith_device::DeviceError;

use crate::{DecodeError, limits};

/// Why something can't be read from an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It does not begin as a SquashFS image does.
    #[error("it is no SquashFS image")]
    NotSquashFs,
    /// It has another version than 4.0.
    #[error("it is a SquashFS image of version {major}.{minor}; expected 4.0")]
    Version {
        /// The first number.
        major: u16,
        /// The second number.
        minor: u16,
    },
    /// Its compressor is not known.
    #[error("it is compressed by an unknown algorithm, number {0}")]
    Compression(u16),
    /// The device failed, or ends too early.
    #[error("the image can't be read")]
    Device(#[from] DeviceError),
    /// The image is damaged. Other parts of it may be sound.
    #[error("the image is corrupt")]
    Corrupt(#[from] Corruption),
}

/// A part of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Inodes.
    Inodes,
    /// Names of directories.
    Directories,
    /// Addresses of fragment blocks.
    Fragments,
    /// Owners and groups.
    Ids,
    /// Addresses of inodes' extended attributes.
    XattrIds,
    /// Names and values of extended attributes.
    Xattrs,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inodes => "inode table",
            Self::Directories => "directory table",
            Self::Fragments => "fragment table",
            Self::Ids => "id table",
            Self::XattrIds => "xattr id table",
            Self::Xattrs => "xattr table",
        })
    }
}

/// What is wrong with a damaged image. Positions are bytes from its start.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Corruption {
    /// The superblock's two fields of the block size differ, or the size is not allowed.
    #[error("the block size is {size}, its logarithm {log}; expected 4096 to 1048576")]
    BlockSize {
        /// The size in bytes.
        size: u32,
        /// Its logarithm.
        log: u16,
    },
    /// A table is not inside the image, or not in the order of tables.
    #[error("the {part} at {start} is out of place")]
    Table {
        /// The table.
        part: Part,
        /// Where it starts.
        start: u64,
    },
    /// There is no entry of that number.
    #[error("number {number} is not in the {part}, which has {count} entries")]
    Entry {
        /// The table.
        part: Part,
        /// The number.
        number: u64,
        /// The number of entries.
        count: u64,
    },
    /// An address of metadata leads out of its table.
    #[error("position {position} is not in the {part}")]
    Address {
        /// The table.
        part: Part,
        /// The position.
        position: u64,
    },
    /// A metadata block has an impossible size.
    #[error(
        "the metadata block at {position} has {size} bytes; at most {} are possible",
        limits::METADATA
    )]
    MetadataSize {
        /// Where it starts.
        position: u64,
        /// Its size in bytes.
        size: usize,
    },
    /// A block can't be decoded.
    #[error("the block at {position} can't be decoded")]
    Stream {
        /// Where it starts.
        position: u64,
        /// Why.
        source: DecodeError,
    },
    /// A block has another length than expected.
    #[error("the block at {position} holds {found} bytes; expected {expected}")]
    BlockLength {
        /// Where it starts.
        position: u64,
        /// Bytes that it holds.
        found: usize,
        /// Bytes that it should hold.
        expected: usize,
    },
    /// A data block takes more bytes than it may.
    #[error("the block at {position} takes {size} bytes, more than the block size")]
    BlockSizeExceeded {
        /// Where it starts.
        position: u64,
        /// Bytes that it takes.
        size: u32,
    },
    /// An inode has a type that does not exist.
    #[error("an inode has the unknown type {0}")]
    InodeType(u16),
    /// A symlink's target is longer than any path.
    #[error("a symlink has a target of {0} bytes; at most {most} are possible", most = limits::SYMLINK)]
    Symlink(u32),
    /// A file is larger than any.
    #[error("a file has {0} bytes")]
    FileSize(u64),
    /// A directory's size is not that of its entries.
    #[error("the entries of a directory end after its {0} bytes")]
    Listing(u32),
    /// The tail of a file is not within its fragment block.
    #[error("a tail of {length} bytes at {offset} is not in its fragment block of {size} bytes")]
    Tail {
        /// Where it starts in the fragment block.
        offset: u32,
        /// Its length in bytes.
        length: usize,
        /// Bytes of the fragment block.
        size: usize,
    },
    /// An extended attribute is of no known namespace.
    #[error("an extended attribute has the unknown namespace {0}")]
    XattrNamespace(u16),
    /// The extended attributes of an inode are larger than Linux allows.
    #[error("an inode has extended attributes of more than {} bytes", limits::XATTR)]
    XattrSize,
}
