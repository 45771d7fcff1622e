//! Defines the state of an open image. What can be done with it is in the files that use this one.

use std::{fmt, ops::Range, sync::OnceLock};

use lith_format::{
    addr::Pa,
    bases::NoteError,
    compression::Configs,
    device_table::{DeviceMap, DevicePa},
    hot,
    joined::{self, Joined, find_joined_header},
    superblock::Superblock,
    xattr::PrefixTable,
};

use crate::{
    cache::Cache,
    decode::StreamKey,
    devices::Devices,
    fetch::{Pool, Source},
    fragments::Fragments,
    inode::Inode,
    limits::Limits,
    map::Map,
    stats::{Counters, Stats},
    way::Way,
};

/// More bytes than a note of bases has that are not thousands.
const MOST_NOTE: usize = 1 << 20;

/// How an image is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Limits and cache sizes.
    pub limits: Limits,
    /// Decode every extent in this way where it is possible. `None`: in the way that suits the read.
    pub way: Option<Way>,
    /// Decode extents whole when they are requested again, however long ago the first request was. For callers that keep
    /// more than the cache does, such as a server that passes [`File::kept_at`](crate::File::kept_at) to the kernel.
    pub whole_again: bool,
    /// Open an image whose superblock has a wrong checksum, too.
    pub any_checksum: bool,
}

impl Options {
    /// Metadata in the cache of one of several images, at least.
    const SHARE: usize = 512 << 10;

    /// The default for each of several images that are open at once: their caches of metadata are together about as large as that of
    /// one.
    #[must_use]
    pub fn of_several(images: usize) -> Self {
        Self::with(|options| {
            let cache = &mut options.limits.metadata_cache;
            *cache = (*cache / images.max(1)).max(Self::SHARE);
        })
    }

    /// The default with changes.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut options = Self::default();
        change(&mut options);
        options
    }
}

/// An image, open for reading by any number of threads.
pub struct Image {
    pub(crate) superblock: Superblock,
    pub(crate) configs: Configs,
    pub(crate) devices: Devices,
    /// The inode that holds fragments.
    pub(crate) packed: Option<SpecialInode>,
    /// Set when all files are expected to be read, with the extents of a compressed packed inode.
    pub(crate) all_files: OnceLock<Option<Fragments>>,
    /// The inode that holds inodes.
    pub(crate) metabox: Option<SpecialInode>,
    pub(crate) prefixes: PrefixTable,
    pub(crate) limits: Limits,
    /// Pieces of the metabox inode's content.
    pub(crate) metabox_pieces: Cache<u64>,
    /// Decoded extents, or their beginnings.
    pub(crate) decoded: Cache<StreamKey>,
    /// Stored bytes of extents whose end is not decoded yet.
    pub(crate) stored: Cache<StreamKey>,
    pub(crate) pool: Pool,
    pub(crate) counters: Counters,
    pub(crate) way: Option<Way>,
}

/// What the content of an inode is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Role {
    /// To be read by callers.
    File,
    /// To hold fragments of many files.
    Packed,
    /// To hold inodes.
    Metabox,
}

impl Role {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Packed => "packed",
            Self::Metabox => "metabox",
        }
    }
}

/// The packed or the metabox inode. Its decoded extents are kept whole, since they hold parts of many files.
pub(crate) struct SpecialInode {
    pub(crate) inode: Inode,
    pub(crate) map: Map,
    pub(crate) role: Role,
}

impl Image {
    /// The superblock.
    #[must_use]
    pub const fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The parameters of the image's algorithms: what their decoders must support.
    #[must_use]
    pub const fn configs(&self) -> &Configs {
        &self.configs
    }

    /// The devices that hold its data.
    #[must_use]
    pub const fn device_map(&self) -> &DeviceMap {
        self.devices.map()
    }

    /// Bytes on a device of the image; device 0 is the primary one. 0 if there is no such device.
    #[must_use]
    pub fn device_size(&self, device: u16) -> u64 {
        self.devices.size(device)
    }

    /// The image's long xattr name prefixes.
    #[must_use]
    pub const fn xattr_prefixes(&self) -> &PrefixTable {
        &self.prefixes
    }

    /// The limits it is read with.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What was read, decoded and served so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counters.get()
    }

    /// The inode that holds fragments, if there is one.
    #[must_use]
    pub fn packed_inode(&self) -> Option<&Inode> {
        self.packed.as_ref().map(|packed| &packed.inode)
    }

    /// The inode that holds inodes, if there is one.
    #[must_use]
    pub fn metabox_inode(&self) -> Option<&Inode> {
        self.metabox.as_ref().map(|metabox| &metabox.inode)
    }

    /// The ranges of the primary device, in bytes, that hold what is read first, as the image says itself: a hint. Empty if
    /// it says nothing.
    #[must_use]
    pub fn read_first(&self) -> Vec<Range<u64>> {
        let size = self.device_size(0);
        let Some(bytes) = self.stored_at(0, hot::SEARCHED) else { return Vec::new() };
        let mut stretches = hot::find_hot_note(&bytes).unwrap_or_default();
        stretches.retain(|range| !range.is_empty() && range.end <= size);
        stretches
    }

    /// The images that follow this one on the primary device, to which it refers, as it says itself: it is a flat patch with
    /// its bases. `None`: it says nothing. They may be said to be anywhere.
    ///
    /// # Errors
    /// [`NoteError`] if it says that some follow, and what it says of them is damaged.
    pub fn joined(&self) -> Result<Option<Joined>, NoteError> {
        let found = self.stored_at(0, joined::SEARCHED);
        let Some(header) = found.and_then(|bytes| find_joined_header(&bytes)) else {
            return Ok(None);
        };
        let bytes = self.stored_at(header.end(), MOST_NOTE).unwrap_or_default();
        header.with_bases(&bytes).map(Some)
    }

    /// At most so many bytes of the primary device; `None`: they can't be read.
    fn stored_at(&self, position: u64, most: usize) -> Option<Vec<u8>> {
        let left = self.device_size(0).checked_sub(position)?;
        let mut bytes = vec![0; usize::try_from(left).map_or(most, |left| left.min(most))];
        let start = DevicePa { device: 0, pa: Pa(position) };
        self.devices.read(start, &mut bytes).ok().map(|()| bytes)
    }

    /// The source of stored bytes.
    pub(crate) const fn source(&self) -> Source<'_> {
        Source { devices: &self.devices, counters: &self.counters }
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("superblock", &self.superblock).finish_non_exhaustive()
    }
}
