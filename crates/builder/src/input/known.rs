//! Defines [`Known`]: content that other devices hold already, to which an image can refer.

use lith_codec::Compressor;
use lith_format::{addr::Blkaddr, zmap::EncodedExtent};
use lith_tree::{Content, ExtraDevice};

use crate::Digest;

/// Content that other devices hold, such as the files of a base image.
///
/// Scanning looks here for the content of each file, by size and digest, and compares the bytes before it relies on
/// them; storing then refers to the extents that are found. No other stage reads this.
#[derive(Default)]
#[non_exhaustive]
pub struct Known<'a> {
    /// The devices. Their slots in the device table follow those of the tree's own devices.
    pub devices: Vec<KnownDevice>,
    /// The files.
    pub files: Vec<KnownFile<'a>>,
}

impl Known<'_> {
    /// Nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self { devices: Vec::new(), files: Vec::new() }
    }
}

/// A device that an image refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDevice {
    /// Its size and tag.
    pub device: ExtraDevice,
    /// Its first block in the unified address space, which index entries of pclusters refer to. `None`: the block
    /// after the device before it.
    pub uniaddr: Option<Blkaddr>,
}

/// A file that other devices hold.
pub struct KnownFile<'a> {
    /// Bytes of the file.
    pub size: u64,
    /// Their digest, as [`Digest::of_content`] computes it.
    pub digest: Digest,
    /// The bytes themselves.
    pub content: &'a dyn Content,
    /// Where they are stored. The extents tile the file.
    pub stored: KnownStorage,
}

/// How a known file is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownStorage {
    /// Uncompressed, in stretches of whole blocks, except the last one.
    Blocks(Vec<KnownStretch>),
    /// Compressed by encoders that need no larger pcluster, in bytes, nor a larger window than these.
    Pclusters {
        /// The encoder of `HEAD1` extents, and if there are some that of `HEAD2` extents.
        compressors: (Compressor, Option<Compressor>),
        /// Bytes of the largest pcluster.
        pcluster: u32,
        /// The extents, from byte 0 of the file on.
        extents: Vec<KnownPcluster>,
    },
}

/// A stretch of a file that is contiguous on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownStretch {
    /// Bytes of the file.
    pub len: u64,
    /// The device's number in the device table, from 1 on, and the first block there. `None`: a hole.
    pub place: Option<(u16, Blkaddr)>,
}

/// An extent and its pcluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPcluster {
    /// The extent.
    pub extent: EncodedExtent,
    /// The first block of its pcluster in the unified address space.
    pub address: Blkaddr,
}
