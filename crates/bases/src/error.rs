//! Defines [`BaseError`], why the bases of an image can't be used.

use std::{
    io,
    path::{Path, PathBuf},
};

use lith_device::DeviceError;
use lith_format::{
    bases::NoteError, device_table::DeviceError as SlotError, superblock::SuperblockError,
};
use lith_verity::VerityError;

/// Why the bases of an image can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// A file can't be opened or measured.
    #[error("{}: cannot open", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file can't be read.
    #[error("{}: cannot read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the device.
        source: DeviceError,
    },
    /// The root hash of a file with a hash tree can't be computed.
    #[error("{}: cannot compute its root hash", path.display())]
    HashTree {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: VerityError,
    },
    /// There is no image that could refer to others.
    #[error("{}: not an EROFS image", path.display())]
    Superblock {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: SuperblockError,
    },
    /// The device table is cut off.
    #[error("{}: its device table can't be read", path.display())]
    Table {
        /// The image.
        path: PathBuf,
        /// What is wrong with it.
        source: SlotError,
    },
    /// The note that names the bases is damaged.
    #[error("{}: cannot tell its bases", path.display())]
    Note {
        /// The image.
        path: PathBuf,
        /// What is wrong with it.
        source: NoteError,
    },
    /// An image refers to itself.
    #[error("{}: refers to itself", path.display())]
    Cycle {
        /// The image.
        path: PathBuf,
    },
    /// A base is nowhere.
    #[error("{}: its base {name} is not in {looked}; name its folder with --base-dir, or the file with --device", path.display())]
    Missing {
        /// The image.
        path: PathBuf,
        /// The base's name.
        name: String,
        /// Where it was looked for.
        looked: String,
    },
    /// A file that others follow on one device does not end with a block, or a hash tree follows in it.
    #[error("{}: does not end with a block of its image, so nothing can follow it on a device", path.display())]
    Odd {
        /// The file.
        path: PathBuf,
    },
    /// A file is shorter or longer than the base.
    #[error("{}: is not the base that the image was made with: it has {found} bytes, expected {expected}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        found: u64,
        /// Bytes of the base.
        expected: u64,
    },
    /// A file holds another image.
    #[error("{}: is not the base that the image was made with: it is image {found}, expected {expected}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// Its UUID.
        found: String,
        /// The base's UUID.
        expected: String,
    },
    /// A file has changed since the image was made.
    #[error("{}: has changed since the image was made that refers to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Another image follows than the base, or a changed one.
    #[error("{}: what follows the image on its device is not its base {name}, or that has changed", path.display())]
    Followed {
        /// The file.
        path: PathBuf,
        /// The base's name.
        name: String,
    },
    /// A device is given that is no base of the image.
    #[error("{}: is none of the bases of {}", path.display(), image.display())]
    Unwanted {
        /// The file.
        path: PathBuf,
        /// The image.
        image: PathBuf,
    },
    /// A base can't be read as an image.
    #[error("{}: cannot be a base", path.display())]
    Image {
        /// The base.
        path: PathBuf,
        /// The error of the reader.
        source: lith_reader::Error,
    },
    /// A base's blocks have another size than those of the image.
    #[error("{}: has blocks of {found} bytes, the image {expected}: a base must have blocks of the same size", path.display())]
    BlockSize {
        /// The base.
        path: PathBuf,
        /// Bytes of its blocks.
        found: u32,
        /// Bytes of the image's.
        expected: u32,
    },
    /// An image would refer to more files than is allowed.
    #[error("{}: with it the image would refer to {found} images, at most {most} are allowed; `lith flatten` makes one of a patch and its bases", path.display())]
    TooMany {
        /// The last of them.
        path: PathBuf,
        /// How many there would be.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// The bases and the image together outgrow the addresses.
    #[error("{}: its blocks would be beyond the reach of 32-bit addresses", path.display())]
    TooFar {
        /// The base.
        path: PathBuf,
    },
}

impl BaseError {
    /// The path of the file concerned.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Open { path, .. }
            | Self::Read { path, .. }
            | Self::HashTree { path, .. }
            | Self::Superblock { path, .. }
            | Self::Table { path, .. }
            | Self::Note { path, .. }
            | Self::Cycle { path }
            | Self::Missing { path, .. }
            | Self::Length { path, .. }
            | Self::Other { path, .. }
            | Self::Changed { path }
            | Self::Followed { path, .. }
            | Self::Unwanted { path, .. }
            | Self::Image { path, .. }
            | Self::BlockSize { path, .. }
            | Self::TooMany { path, .. }
            | Self::Odd { path }
            | Self::TooFar { path } => path,
        }
    }
}
