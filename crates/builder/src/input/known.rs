//! Defines [`Known`]: content that other devices hold already, to which an image can refer.

use std::{collections::BTreeMap, io, ops::Range};

use lith_format::{
    addr::{Blkaddr, BlockBits},
    compression::{Algorithm, Configs},
};
use lith_tree::{Content, ContentError, ExtraDevice, InodeIndex};
use xxhash_rust::xxh3::xxh3_64;

use crate::{Digest, window::hash_of_first};

/// Content that other devices hold, such as the files of a base image.
///
/// Scanning looks here for the content of each file, by size and digest, and for the extents of files of which only a part
/// is known; it compares the bytes before it relies on them. Storing then refers to what is found. No other stage reads this.
#[non_exhaustive]
pub struct Known<'a> {
    /// The devices. Their slots in the device table follow those of the tree's own devices.
    pub devices: Vec<KnownDevice>,
    /// Bytes that follow the device table, or the header that says where known content follows the image, for readers that
    /// know more than the format.
    pub note: Vec<u8>,
    /// Where known content follows the image on its device, if it does. Then there are no devices.
    pub follows: Option<Following>,
    /// What the decoders of the pclusters must hold.
    pub configs: Configs,
    /// The bytes themselves.
    pub contents: &'a dyn KnownContents,
    /// The unified address space, by bytes. What is known is copied from it as it is, not referred to: then there are no
    /// devices.
    pub copied: Option<&'a dyn Content>,
    /// The files that are found by their bytes.
    pub files: Vec<KnownFile>,
    /// Files of the tree that are known, by their indices.
    pub own: BTreeMap<InodeIndex, KnownParts>,
    /// What the packed inode starts with, if some file refers to that.
    pub packed: Option<KnownPacked>,
    /// The extents that are looked for in files.
    pub extents: Vec<KnownExtent>,
}

/// Opens what is known.
pub trait KnownContents: Sync {
    /// Opens the content of that number, as [`KnownFile`], [`KnownExtent`] and [`KnownPacked`] have it.
    ///
    /// # Errors
    /// [`ContentError`] if it can't be read.
    fn open(&self, number: u32) -> Result<Box<dyn Content + '_>, ContentError>;
}

impl KnownContents for () {
    fn open(&self, number: u32) -> Result<Box<dyn Content + '_>, ContentError> {
        let path = number.to_string().into();
        Err(ContentError::Io { path, action: "open", source: io::ErrorKind::NotFound.into() })
    }
}

impl Known<'_> {
    /// Nothing is known.
    #[must_use]
    pub fn new() -> Self {
        let configs = Configs { lz4: None, lzma: None, deflate: None, zstd: None };
        Self {
            devices: Vec::new(),
            note: Vec::new(),
            follows: None,
            configs,
            contents: &(),
            copied: None,
            files: Vec::new(),
            own: BTreeMap::new(),
            packed: None,
            extents: Vec::new(),
        }
    }
}

impl Default for Known<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Known content that follows an image on its device. The image is at most as long as where that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Following {
    /// The first block of it.
    pub start: Blkaddr,
    /// The first block after it: so many the device has.
    pub end: u64,
    /// The images that it is made of, which the note names.
    pub count: u16,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// Bytes of the file.
    pub size: u64,
    /// Their digest, as [`Digest::of_content`] computes it.
    pub digest: Digest,
    /// The number of its bytes in [`Known::contents`].
    pub content: u32,
    /// Where they are stored.
    pub stored: KnownStorage,
}

/// What is known of a file of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownParts {
    /// Where all of it is stored.
    Whole(KnownStorage),
    /// Extents by their positions, in ascending order without overlaps. Bytes between them are stored again.
    Extents(Vec<(u64, KnownPcluster)>),
}

impl KnownParts {
    /// Extents by their positions; `None`: it is not in pclusters.
    pub(crate) fn extents(&self) -> Option<Vec<(u64, KnownPcluster)>> {
        match self {
            Self::Extents(extents) => Some(extents.clone()),
            Self::Whole(KnownStorage::Pclusters { extents, .. }) => {
                let mut next = 0;
                let position = |known: &KnownPcluster| {
                    let position = next;
                    next += u64::from(known.llen);
                    (position, *known)
                };
                Some(extents.iter().map(position).collect())
            }
            Self::Whole(_) => None,
        }
    }
}

/// How a known file is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownStorage {
    /// Uncompressed, in stretches of whole blocks, except the last one.
    Blocks(Vec<KnownStretch>),
    /// Uncompressed, in contiguous blocks, except the last bytes.
    Flat {
        /// The first block in the unified address space.
        start: Blkaddr,
        /// Bytes at the end that are in no block; none, or what exceeds whole blocks.
        tail: u32,
    },
    /// In pclusters of at most two algorithms.
    Pclusters {
        /// The extents, from byte 0 of the file on.
        extents: Vec<KnownPcluster>,
        /// Where the bytes after the extents are in [`Known::packed`]; `None`: there are none.
        tail: Option<u64>,
    },
    /// All of it in [`Known::packed`], from this byte on.
    Packed(u64),
}

impl KnownStorage {
    /// The bytes of [`Known::packed`] that a file of `size` bytes has.
    #[must_use]
    pub fn in_packed(&self, size: u64) -> Option<Range<u64>> {
        let (start, len) = match self {
            Self::Packed(start) => (*start, size),
            Self::Pclusters { extents, tail: Some(start) } => {
                let before: u64 = extents.iter().map(|extent| u64::from(extent.llen)).sum();
                (*start, size.saturating_sub(before))
            }
            _ => return None,
        };
        Some(start..start.saturating_add(len))
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownPcluster {
    /// Bytes of the extent.
    pub llen: u32,
    /// Blocks of its pcluster.
    pub blocks: u16,
    /// `None`: it is uncompressed, in one block.
    pub algorithm: Option<Algorithm>,
    /// Whether the pcluster may decode to more bytes.
    pub partial: bool,
    /// The first block of its pcluster in the unified address space.
    pub address: Blkaddr,
}

/// Blocks of a pcluster that its beginning must hold to be referred to without the rest: what follows starts a pcluster of
/// its own, and the last one before a border is not full.
const LEAST_BLOCKS: u64 = 2;

impl KnownPcluster {
    /// How many bytes of an extent are worth being referred to without the others.
    pub(crate) fn least(&self, block: BlockBits) -> u64 {
        let (llen, blocks) = (u64::from(self.llen), u64::from(self.blocks));
        let share = (llen * LEAST_BLOCKS).div_ceil(blocks.max(1));
        let reusable = 2 * u64::from(block.size());
        if self.algorithm.is_none() { llen } else { share.max(reusable).min(llen) }
    }
}

/// An extent that is looked for in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownExtent {
    /// The hash of its first bytes.
    pub(crate) first: u64,
    /// The hash of all its bytes.
    pub(crate) all: u64,
    /// The hash of as many of them as are worth being referred to without the others.
    pub(crate) least: u64,
    pub(crate) pcluster: KnownPcluster,
    /// The number of the content that it is a part of, and where it starts there.
    pub(crate) place: (u32, u64),
}

impl KnownExtent {
    /// The extent that holds `bytes`, which start at a position of the content of a number. `None`: there is nothing
    /// particular about its first bytes, or too few.
    #[must_use]
    pub fn new(
        bytes: &[u8],
        (pcluster, block): (KnownPcluster, BlockBits),
        place: (u32, u64),
    ) -> Option<Self> {
        let first = hash_of_first(bytes)?;
        let all = xxh3_64(bytes);
        let least = usize::try_from(pcluster.least(block)).ok()?;
        let least = bytes.get(..least).filter(|least| least.len() < bytes.len());
        Some(Self { first, all, least: least.map_or(all, xxh3_64), pcluster, place })
    }
}

/// What the packed inodes of other images hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPacked {
    /// Its bytes.
    pub size: u64,
    /// The number of its bytes in [`Known::contents`].
    pub content: u32,
    /// Extents by their positions, in ascending order without overlaps. Bytes between them are stored again if a file has them.
    pub extents: Vec<(u64, KnownPcluster)>,
    /// Whether blocks of uncompressed ones are rotated by their position. Then those that are stored again must be, too.
    pub interlaced: bool,
}

impl KnownPacked {
    /// The ranges of it, in order, that are neither in an extent nor in one of the ranges that are `used`.
    pub(crate) fn unused(&self, mut used: Vec<Range<u64>>) -> Vec<Range<u64>> {
        used.extend(
            self.extents
                .iter()
                .map(|(position, extent)| *position..position.saturating_add(extent.llen.into())),
        );
        used.push(self.size..self.size);
        used.sort_unstable_by_key(|range| range.start);
        let (mut unused, mut done) = (Vec::new(), 0);
        for range in used {
            if done < range.start {
                unused.push(done..range.start);
            }
            done = done.max(range.end);
        }
        unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_packed_inodes_are_unused_that_no_file_and_no_extent_has() {
        let extent = KnownPcluster {
            llen: 10,
            blocks: 1,
            algorithm: None,
            partial: false,
            address: Blkaddr(1),
        };
        let extents = vec![(20, extent), (60, extent)];
        let packed = KnownPacked { size: 100, content: 0, extents, interlaced: true };
        assert_eq!(packed.unused(vec![]), [0..20, 30..60, 70..100]);
        assert_eq!(packed.unused(vec![40..65, 0..5, 2..25, 90..100]), [30..40, 70..90]);
    }
}
