//! Defines the errors of reading, by what the caller can do about them.

use std::{
    io,
    path::{Path, PathBuf},
};

use lith_codec::DecodeError;
use lith_device::DeviceError;
use lith_format::{
    addr::Nid,
    chunk::ChunkError,
    compression::{Algorithm, ConfigError, UnknownAlgorithm},
    device_table,
    dirent::DirentError,
    inode::InodeError,
    superblock::SuperblockError,
    xattr::XattrError,
    zmap::{ExtentError, HeaderError, IndexError, MapDamage, MapError},
};
use lith_system::errno;

/// Why something can't be read from an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The image as a whole can't be used: it isn't one, is damaged, or needs a feature or device that is missing.
    #[error("the image{} can't be opened", after_space(.path.as_deref()))]
    Open {
        /// The file that holds the image, if it was opened by its path.
        path: Option<PathBuf>,
        /// What is wrong.
        source: OpenError,
    },
    /// A file of a list of files ([`crate::Files`]) can't be read.
    #[error("can't read {}", String::from_utf8_lossy(.path))]
    File {
        /// The path from the first directory of the list on.
        path: Vec<u8>,
        /// Why.
        source: Box<Self>,
    },
    /// An inode or its data is damaged. Other files may be sound.
    #[error("inode {nid} is corrupt")]
    Corrupt {
        /// The inode.
        nid: Nid,
        /// What is wrong.
        source: Corruption,
    },
    /// An inode uses a feature that this version can't read. Other files may be readable.
    #[error("inode {nid} can't be read by this version")]
    Unsupported {
        /// The inode.
        nid: Nid,
        /// What it uses.
        source: Unsupported,
    },
    /// A device failed, or ends before what the inode refers to.
    #[error("inode {nid}: the device failed")]
    Device {
        /// The inode that was read.
        nid: Nid,
        /// The device's error.
        source: DeviceError,
    },
    /// A path or name leads nowhere.
    #[error("{} does not exist", String::from_utf8_lossy(.path))]
    NotFound {
        /// The path as far as the name that is missing.
        path: Vec<u8>,
    },
    /// A name of a path other than the last is not a directory, or an operation needs a directory.
    #[error("inode {nid} is not a directory")]
    NotADirectory {
        /// The inode.
        nid: Nid,
    },
    /// The target of an inode that is not a symlink was requested.
    #[error("inode {nid} is not a symlink")]
    NotASymlink {
        /// The inode.
        nid: Nid,
    },
    /// The content of a device, pipe or socket was requested.
    #[error("inode {nid} has no content")]
    NoContent {
        /// The inode.
        nid: Nid,
    },
    /// A path leads through too many symlinks.
    #[error("{} leads through more than {limit} symlinks", String::from_utf8_lossy(.path))]
    TooManySymlinks {
        /// The path that was requested.
        path: Vec<u8>,
        /// How many are allowed.
        limit: u32,
    },
    /// A read goes beyond the end of the file.
    #[error("inode {nid} has {size} bytes, not {length} at {position}")]
    BeyondEnd {
        /// The inode.
        nid: Nid,
        /// The first byte requested.
        position: u64,
        /// Bytes requested.
        length: u64,
        /// Bytes in the file.
        size: u64,
    },
}

/// Why an image as a whole can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file of [`crate::Image::open_path`] can't be opened or measured.
    #[error(transparent)]
    File(io::Error),
    /// The packed, the metabox or the root inode of the file of [`crate::Image::open_path`] can't be read.
    #[error(transparent)]
    Inode(Box<Error>),
    /// A device failed or is too short for a superblock.
    #[error("the superblock can't be read")]
    Device(#[from] DeviceError),
    /// There is no superblock, or it is damaged, or needs an unsupported feature.
    #[error(transparent)]
    Superblock(#[from] SuperblockError),
    /// The config records of the algorithms are damaged or unsupported.
    #[error(transparent)]
    Configs(#[from] ConfigError),
    /// The device table is damaged.
    #[error(transparent)]
    DeviceTable(#[from] device_table::DeviceError),
    /// The number of devices given is not that of the device table.
    #[error("the image needs {expected} further devices, found {given}")]
    DeviceCount {
        /// Slots of the device table.
        expected: usize,
        /// Devices given.
        given: usize,
    },
    /// The table of long xattr prefixes is damaged.
    #[error("the table of xattr name prefixes is damaged")]
    Prefixes(#[from] XattrError),
    /// The root is not a directory.
    #[error("the root, inode {nid}, is not a directory")]
    Root {
        /// The root's NID.
        nid: Nid,
    },
}

/// What is wrong with a damaged inode.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Corruption {
    /// Its fields.
    #[error(transparent)]
    Inode(#[from] InodeError),
    /// An address of one of its parts is beyond any image.
    #[error("an address overflows")]
    Address,
    /// It ends beyond its metadata space.
    #[error("{length} bytes at {position} are beyond the {size} bytes of the metabox")]
    BeyondMetabox {
        /// First byte.
        position: u64,
        /// Bytes.
        length: u64,
        /// Bytes that the metabox inode has.
        size: u64,
    },
    /// An inline tail crosses a block boundary.
    #[error("{length} bytes of inline data at {position} cross a block boundary")]
    InlineCrossesBlock {
        /// Where it starts in its metadata space.
        position: u64,
        /// Its bytes.
        length: u64,
    },
    /// A directory block.
    #[error("directory block {block}")]
    Directory {
        /// The block's number in the directory.
        block: u64,
        /// What is wrong.
        source: DirentError,
    },
    /// A directory's size.
    #[error("a directory of {size} bytes; {limit} is the limit")]
    DirectorySize {
        /// Its bytes.
        size: u64,
        /// The most it may have.
        limit: u64,
    },
    /// A directory that contains itself or has two names.
    #[error("the directory is reached a second time")]
    DirectoryTwice,
    /// Directories nested deeper than paths can reach.
    #[error("more than {limit} nested directories")]
    DirectoryDepth {
        /// How many are allowed.
        limit: usize,
    },
    /// Directories that have more bytes in all than the size of the image justifies.
    #[error(
        "the directories up to this one have more than {limit} bytes, the limit for the image's size"
    )]
    DirectoryBytes {
        /// The most that is read.
        limit: u64,
    },
    /// A symlink's length.
    #[error("a symlink of {length} bytes, expected 1 to {limit}")]
    SymlinkLength {
        /// Its bytes.
        length: u64,
        /// The most it may have.
        limit: u64,
    },
    /// A symlink with a NUL in its target.
    #[error("a NUL in a symlink's target")]
    SymlinkNul,
    /// Its extended attributes.
    #[error(transparent)]
    Xattr(#[from] XattrError),
    /// Its chunk table.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// A reference to a device.
    #[error(transparent)]
    Device(#[from] device_table::DeviceError),
    /// Its map header.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// An index of its map.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Its map of lcluster indexes or extent records.
    #[error(transparent)]
    Map(#[from] MapDamage),
    /// Extents that overlap or leave gaps.
    #[error("an extent of {len} bytes at {la}, expected one at {expected}")]
    ExtentOrder {
        /// The extent's first byte in the file.
        la: u64,
        /// Its bytes.
        len: u64,
        /// The byte at which it should start.
        expected: u64,
    },
    /// A use of an algorithm that the superblock does not declare.
    #[error("the extent at {la} is compressed by {algorithm}, which the image doesn't declare")]
    UndeclaredAlgorithm {
        /// The extent's first byte in the file.
        la: u64,
        /// The algorithm.
        algorithm: Algorithm,
    },
    /// A use of an algorithm that does not exist.
    #[error(transparent)]
    UnknownAlgorithm(#[from] UnknownAlgorithm),
    /// A pcluster that does not decode.
    #[error("the extent at {la} does not decode")]
    Decode {
        /// The extent's first byte in the file.
        la: u64,
        /// The decoder's error.
        source: DecodeError,
    },
    /// A fragment, but the image has no packed inode.
    #[error("a fragment, but the image has no packed inode")]
    NoPackedInode,
    /// A fragment in the packed inode itself.
    #[error("a fragment inside the packed inode")]
    NestedFragment,
    /// A fragment beyond the packed inode's end.
    #[error("a fragment of {length} bytes at {offset} ends beyond the packed inode's {size} bytes")]
    FragmentBeyondPacked {
        /// Where it starts.
        offset: u64,
        /// Its bytes.
        length: u64,
        /// Bytes that the packed inode has.
        size: u64,
    },
    /// A NID in the metabox, but the image has none, or the NID is the metabox inode's own.
    #[error("a NID in the metabox, but the image has none")]
    NoMetabox,
    /// The packed or the metabox inode is not a regular file.
    #[error("the {role} inode is not a regular file")]
    NotAFile {
        /// `packed` or `metabox`.
        role: &'static str,
    },
}

/// A feature of an inode that this version can't read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// A form of inode.
    #[error(transparent)]
    Inode(InodeError),
    /// A form of chunk table.
    #[error(transparent)]
    Chunk(ChunkError),
    /// A form of xattr body.
    #[error(transparent)]
    Xattr(XattrError),
    /// An extent beyond the limits.
    #[error(transparent)]
    Extent(ExtentError),
}

impl Error {
    /// The error number that Linux returns for the same error of a mounted image.
    #[must_use]
    pub fn errno(&self) -> i32 {
        match self {
            Self::Open { source, .. } => source.errno(),
            Self::File { source, .. } => source.errno(),
            Self::Corrupt { .. } => errno::EUCLEAN,
            Self::Unsupported { .. } => errno::EOPNOTSUPP,
            Self::Device { .. } => errno::EIO,
            Self::NotFound { .. } => errno::ENOENT,
            Self::NotADirectory { .. } => errno::ENOTDIR,
            Self::NotASymlink { .. } | Self::NoContent { .. } | Self::BeyondEnd { .. } => {
                errno::EINVAL
            }
            Self::TooManySymlinks { .. } => errno::ELOOP,
        }
    }

    /// The path of the file concerned: within the image, or for [`Self::Open`] of the image itself.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Open { path, .. } => path.as_deref(),
            Self::File { path, .. }
            | Self::NotFound { path }
            | Self::TooManySymlinks { path, .. } => Some(lith_system::path(path)),
            _ => None,
        }
    }

    /// The inode concerned.
    #[must_use]
    pub fn nid(&self) -> Option<Nid> {
        match self {
            Self::Open { source: OpenError::Inode(source), .. } | Self::File { source, .. } => {
                source.nid()
            }
            Self::Open { source: OpenError::Root { nid }, .. }
            | Self::Corrupt { nid, .. }
            | Self::Unsupported { nid, .. }
            | Self::Device { nid, .. }
            | Self::NotADirectory { nid }
            | Self::NotASymlink { nid }
            | Self::NoContent { nid }
            | Self::BeyondEnd { nid, .. } => Some(*nid),
            Self::Open { .. } | Self::NotFound { .. } | Self::TooManySymlinks { .. } => None,
        }
    }

    /// The same error of an image that was opened by its path.
    pub(crate) fn opening(self, path: &Path) -> Self {
        let source = match self {
            Self::Open { source, .. } => source,
            other => OpenError::Inode(Box::new(other)),
        };
        Self::Open { path: Some(path.to_path_buf()), source }
    }
}

fn after_space(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| format!(" {}", path.display()))
}

impl OpenError {
    fn errno(&self) -> i32 {
        match self {
            Self::File(source) => source.raw_os_error().unwrap_or(errno::EIO),
            Self::Inode(source) => source.errno(),
            Self::Device(_) => errno::EIO,
            Self::Superblock(SuperblockError::Checksum { .. }) => errno::EBADMSG,
            Self::Superblock(SuperblockError::Magic { .. }) => errno::EINVAL,
            Self::Superblock(source) if source.is_unsupported() => errno::EOPNOTSUPP,
            Self::DeviceCount { .. } => errno::ENODEV,
            _ => errno::EUCLEAN,
        }
    }
}

impl<E: Into<OpenError>> From<E> for Error {
    fn from(source: E) -> Self {
        Self::Open { path: None, source: source.into() }
    }
}

/// An [`Error`] that doesn't name its inode yet.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The inode that is being read is damaged.
    Corrupt(Corruption),
    /// It uses a feature that this version can't read.
    Unsupported(Unsupported),
    /// A device failed.
    Device(DeviceError),
    /// An error of another inode, such as the packed inode.
    Named(Box<Error>),
}

impl Fault {
    /// The error of the inode `nid`, which is being read.
    pub(crate) fn of(self, nid: Nid) -> Error {
        match self {
            Self::Corrupt(source) => Error::Corrupt { nid, source },
            Self::Unsupported(source) => Error::Unsupported { nid, source },
            Self::Device(source) => Error::Device { nid, source },
            Self::Named(error) => *error,
        }
    }
}

impl<E: Into<Corruption>> From<E> for Fault {
    fn from(source: E) -> Self {
        match source.into() {
            Corruption::Inode(source) if source.is_unsupported() => {
                Self::Unsupported(Unsupported::Inode(source))
            }
            Corruption::Chunk(source) if source.is_unsupported() => {
                Self::Unsupported(Unsupported::Chunk(source))
            }
            Corruption::Xattr(source) if source.is_unsupported() => {
                Self::Unsupported(Unsupported::Xattr(source))
            }
            Corruption::Map(MapDamage::Extent(source)) if source.is_unsupported() => {
                Self::Unsupported(Unsupported::Extent(source))
            }
            source => Self::Corrupt(source),
        }
    }
}

impl From<DeviceError> for Fault {
    fn from(source: DeviceError) -> Self {
        Self::Device(source)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Named(Box::new(error))
    }
}

impl From<MapError<Fault>> for Fault {
    fn from(error: MapError<Self>) -> Self {
        match error {
            MapError::Source(fault) => fault,
            MapError::Damaged(damage) => damage.into(),
        }
    }
}
