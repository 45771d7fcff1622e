//! What is an open image?

use std::{fmt, path::Path};

use lith_device::{FileDevice, ReadAt};
use lith_format::{
    compression::Configs, device_table::DeviceMap, superblock::Superblock, xattr::PrefixTable,
};

use crate::{
    cache::Cache,
    content::{Content, Role, Shared},
    decode::StreamKey,
    devices::Devices,
    error::{Error, OpenError},
    fetch::Pool,
    inode::Inode,
    limits::Limits,
    stats::{Counters, Stats},
    way::Way,
};

/// How an image is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Caps and cache sizes.
    pub limits: Limits,
    /// Decode every extent in this way, as far as it can be; by default in the one that fits it best.
    pub way: Option<Way>,
    /// Decode extents as a whole when they are asked for again, however long ago they were: for who keeps more than the
    /// cache does, as a server that passes [`File::kept_at`](crate::File::kept_at) on to the kernel.
    pub whole_again: bool,
    /// Open an image whose superblock has a wrong checksum, too.
    pub any_checksum: bool,
}

/// An image, open for reading by any number of threads.
pub struct Image {
    pub(crate) superblock: Superblock,
    pub(crate) configs: Configs,
    pub(crate) devices: Devices,
    /// The inode that holds fragments.
    pub(crate) packed: Option<Shared>,
    /// The inode that holds inodes.
    pub(crate) metabox: Option<Shared>,
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

impl Image {
    /// Opens the image in a file or on a block device.
    ///
    /// # Errors
    /// [`Error::Open`] with the path.
    pub fn open_path(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let device = FileDevice::open(path).map_err(|error| OpenError::File(error).into());
        device.and_then(Self::open).map_err(|error: Error| error.opening(path))
    }

    /// Opens the image on `device`. What a device table names besides is taken to follow on the same device.
    ///
    /// # Errors
    /// [`Error::Open`] if there is no image or it can't be used, and what reading its special inodes says.
    pub fn open(device: impl ReadAt + 'static) -> Result<Self, Error> {
        Self::open_with(vec![Box::new(device)], Options::default())
    }

    /// Opens the image on the first of `devices`; the others are those of its device table, in its order, or
    /// none if they follow on the first.
    ///
    /// # Errors
    /// As [`Self::open`]; also if there are fewer or more devices than the table has.
    pub fn open_with(devices: Vec<Box<dyn ReadAt>>, options: Options) -> Result<Self, Error> {
        crate::open::open(devices, options)
    }

    /// What the image says about itself.
    #[must_use]
    pub const fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// What the decoders of its algorithms must hold.
    #[must_use]
    pub const fn configs(&self) -> &Configs {
        &self.configs
    }

    /// The devices that its data lies on.
    #[must_use]
    pub const fn device_map(&self) -> &DeviceMap {
        self.devices.map()
    }

    /// Bytes on a device of the image, 0 being the primary one; none if there is no such device.
    #[must_use]
    pub fn device_size(&self, device: u16) -> u64 {
        self.devices.size(device)
    }

    /// Its own prefixes of xattr names.
    #[must_use]
    pub const fn xattr_prefixes(&self) -> &PrefixTable {
        &self.prefixes
    }

    /// The caps it is read with.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What reading took so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counters.get()
    }

    /// The root directory.
    ///
    /// # Errors
    /// As [`Self::inode`].
    pub fn root(&self) -> Result<Inode, Error> {
        self.inode(self.superblock.root_nid)
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

    pub(crate) const fn content_of<'a>(
        &'a self,
        inode: &'a Inode,
        map: &'a crate::map::Map,
    ) -> Content<'a> {
        Content { image: self, inode, map, role: Role::File }
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("superblock", &self.superblock).finish_non_exhaustive()
    }
}
