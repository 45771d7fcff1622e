//! Defines [`BuildError`], why an image can't be built.

use std::{
    io,
    path::{Path, PathBuf},
};

use lith_codec::CodecError;
use lith_format::{
    chunk::ChunkError, device_table::DeviceError, dirent::DirentError, inode::InodeEncodeError,
    kernel::KernelVersion, superblock::SuperblockError, xattr::XattrError, zmap::EncodeError,
};
use lith_tree::{ContentError, DisplayPath};

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A source file can't be read, or is not what it was.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The image can't be written: the disk is full, for one.
    #[error("cannot {action} the image")]
    Output {
        /// `write`, `read back` and the like.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// Temporary data can't be kept.
    #[error("cannot keep temporary data in {}", directory.display())]
    Temporary {
        /// Where it was to be.
        directory: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// An option needs a newer kernel than the oldest that must be able to mount the image.
    #[error("{what} needs Linux {needs}, but the target kernel is Linux {kernel}")]
    Kernel {
        /// The capability.
        what: String,
        /// The first kernel that has it.
        needs: KernelVersion,
        /// The target kernel of the options.
        kernel: KernelVersion,
    },
    /// An option's value is outside what the format allows.
    #[error("{option} {found} is not allowed: {expected}")]
    Option {
        /// The option, in words.
        option: &'static str,
        /// Its value.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// A file has more, or larger, extended attributes than the format can hold.
    #[error("{}: extended attribute {} {problem}", DisplayPath(path), DisplayPath(name))]
    Xattr {
        /// The file's path in the tree.
        path: Vec<u8>,
        /// The attribute's whole name.
        name: Vec<u8>,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A symbolic link's target is longer than Linux reads.
    #[error("{}: its target has {found} bytes, more than {limit}", DisplayPath(path))]
    Symlink {
        /// The link's path in the tree.
        path: Vec<u8>,
        /// The length in bytes.
        found: usize,
        /// The greatest length.
        limit: usize,
    },
    /// A file is larger than what an image can hold.
    #[error("{}: too large: {problem}", DisplayPath(path))]
    FileTooLarge {
        /// The file's path in the tree.
        path: Vec<u8>,
        /// What there would be too much of.
        problem: &'static str,
    },
    /// The bytes of a file on another device can't be referred to.
    #[error("{}: can't refer to its bytes on another device", DisplayPath(path))]
    OtherDevice {
        /// The file's path in the tree.
        path: Vec<u8>,
        /// The reason.
        #[source]
        problem: OtherDevice,
    },
    /// A file does not fit a compact inode, which the options request for all.
    #[error(
        "{}: has no compact inode: its size, owner, group or number of links is too large",
        DisplayPath(path)
    )]
    NotCompact {
        /// The file's path in the tree.
        path: Vec<u8>,
    },
    /// The image outgrows 32-bit block addresses.
    #[error("the image would have more than {limit} blocks")]
    TooLarge {
        /// The most blocks that there can be.
        limit: u64,
    },
    /// The compressor failed.
    #[error("{}: cannot compress", DisplayPath(path))]
    Codec {
        /// The file's path in the tree.
        path: Vec<u8>,
        /// What the compressor said.
        source: CodecError,
    },
    /// A value does not fit its field on disk; this is a bug of the builder, not a fault of the source.
    #[error("{}: cannot be encoded", DisplayPath(path))]
    Encode {
        /// The file's path in the tree; empty for the superblock.
        path: Vec<u8>,
        /// What can't be encoded.
        source: Unencodable,
    },
    /// The observer cancelled the build.
    #[error("the build was cancelled")]
    Cancelled,
    /// A worker thread panicked; its panic is passed on to the caller's thread.
    #[error("a worker thread panicked")]
    WorkerPanicked,
}

impl BuildError {
    /// The path of the file concerned: of the source, in the tree without a leading slash, or the directory for temporary
    /// data. `None` if the error is about the image or its options.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Content(error) => Some(error.path()),
            Self::Temporary { directory, .. } => Some(directory),
            Self::Xattr { path, .. }
            | Self::Symlink { path, .. }
            | Self::OtherDevice { path, .. }
            | Self::NotCompact { path }
            | Self::FileTooLarge { path, .. }
            | Self::Codec { path, .. }
            | Self::Encode { path, .. } => Some(lith_system::path(path)),
            Self::Output { .. }
            | Self::Kernel { .. }
            | Self::Option { .. }
            | Self::TooLarge { .. }
            | Self::Cancelled
            | Self::WorkerPanicked => None,
        }
    }
}

/// Why the bytes of a file on another device can't be referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtherDevice {
    /// They are not in whole blocks.
    #[error("at byte {position} no block of {block} bytes starts")]
    Unaligned {
        /// The position in the file.
        position: u64,
        /// The block size.
        block: u32,
    },
    /// They are beyond the end of the device, or there is no such device.
    #[error("they are beyond the end of device {device}")]
    Beyond {
        /// The device's number in the device table.
        device: usize,
    },
    /// They are not as many as the file has.
    #[error("it has {expected} bytes, of which {found} are there")]
    Size {
        /// Bytes on devices.
        found: u64,
        /// Bytes of the file.
        expected: u64,
    },
}

/// A part of the image that can't be encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unencodable {
    /// The index of a compressed file.
    #[error("its index")]
    Index(#[source] EncodeError),
    /// The chunk table of a file.
    #[error("its chunk table")]
    Chunks(#[source] ChunkError),
    /// An inode.
    #[error("its inode")]
    Inode(#[source] InodeEncodeError),
    /// A directory.
    #[error("its directory entries")]
    Directory(#[source] DirentError),
    /// Extended attributes.
    #[error("its extended attributes")]
    Xattrs(#[source] XattrError),
    /// The device table.
    #[error("the device table")]
    Devices(#[source] DeviceError),
    /// The superblock.
    #[error("the superblock")]
    Superblock(#[source] SuperblockError),
}
