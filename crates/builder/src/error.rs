//! What can go wrong while an image is built?

use std::{io, path::PathBuf};

use lith_codec::CodecError;
use lith_format::kernel::KernelVersion;
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
    /// What was asked for needs a newer kernel than the oldest that shall mount the image.
    #[error("{what} needs Linux {needs}, but the image shall mount on Linux {kernel}")]
    Kernel {
        /// What was asked for.
        what: String,
        /// The first kernel that has it.
        needs: KernelVersion,
        /// The oldest kernel asked for.
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
    /// A file's bytes lie on another device, but not in blocks.
    #[error(
        "{}: byte {position} lies on another device, but there begins no block of {block} bytes",
        DisplayPath(path)
    )]
    Unaligned {
        /// The file's path in the tree.
        path: Vec<u8>,
        /// Where in the file.
        position: u64,
        /// The block size.
        block: u32,
    },
    /// A file has no room in a compact inode, which all shall have.
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
    /// A value does not fit its field on disk; this is a fault of the builder, not of the source.
    #[error("{}: cannot encode its {part}: {problem}", DisplayPath(path))]
    Encode {
        /// The file's path in the tree.
        path: Vec<u8>,
        /// Which part of its metadata.
        part: &'static str,
        /// What the format says.
        problem: String,
    },
    /// The observer cancelled the build.
    #[error("the build was cancelled")]
    Cancelled,
    /// A worker thread panicked; its panic is passed on to the caller's thread.
    #[error("a worker thread panicked")]
    WorkerPanicked,
}
