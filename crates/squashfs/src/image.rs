//! Defines [`SquashFs`], an open image.

use std::fmt;

use lith_device::ReadAt;
use zerocopy::little_endian::U32;

use crate::{
    Corruption, Entry, Error, File, Inode, InodeAddress, Kind, Part, Superblock, Xattr, directory,
    file::StoredFragment,
    inode,
    metadata::{Area, Reader},
    store::Store,
    table::Table,
    xattr::XattrTables,
};

/// An open image, which any number of threads can read at once.
pub struct SquashFs {
    store: Store,
    superblock: Superblock,
    ids: Box<[u32]>,
    fragments: Table,
    xattrs: Option<XattrTables>,
    inodes: Area,
    directories: Area,
}

impl fmt::Debug for SquashFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SquashFs").field("superblock", &self.superblock).finish_non_exhaustive()
    }
}

impl SquashFs {
    /// Opens the image at the beginning of a device.
    ///
    /// # Errors
    /// [`Error`] if it is no image of version 4.0, or its tables are damaged.
    pub fn open(device: impl ReadAt + 'static) -> Result<Self, Error> {
        let superblock = Superblock::read(&device)?;
        let Superblock { compression, block_size, inode_table, directory_table, .. } = superblock;
        let store = Store::new(Box::new(device), compression, block_size);
        let ids =
            Table::open::<U32>(&store, Part::Ids, superblock.id_table, superblock.ids.into())?;
        let count = superblock.fragments.into();
        let fragments = match superblock.fragment_table {
            Some(list) => Table::open::<StoredFragment>(&store, Part::Fragments, list, count)?,
            None => Table::empty(Part::Fragments),
        };
        let xattrs = superblock.xattr_id_table.map(|head| XattrTables::open(&store, head));
        // Directories are followed by whichever table is there.
        let blocks = [ids.first_block(), fragments.first_block()];
        let lists = [superblock.fragment_table, superblock.export_table];
        let following = blocks.into_iter().chain(lists).flatten();
        let end = following.filter(|position| *position > directory_table).min();
        let end = end.unwrap_or(directory_table).min(store.size());
        let id = |number| Ok(ids.get::<U32>(&store, number)?.get());
        Ok(Self {
            ids: (0..ids.count).map(id).collect::<Result<_, Error>>()?,
            superblock,
            fragments,
            xattrs: xattrs.transpose()?,
            inodes: Area { part: Part::Inodes, start: inode_table, end: directory_table },
            directories: Area { part: Part::Directories, start: directory_table, end },
            store,
        })
    }

    /// The superblock.
    #[must_use]
    pub const fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The root directory.
    #[must_use]
    pub const fn root(&self) -> InodeAddress {
        InodeAddress(self.superblock.root)
    }

    /// The most bytes that all listings of directories together, and the most that all inodes together can have if none of
    /// them overlap. A walk through a damaged image, where they may, must stop there.
    ///
    /// # Errors
    /// [`Error::Device`] if the tables can't be read.
    pub fn metadata_bytes(&self) -> Result<(u64, u64), Error> {
        Ok((self.directories.bytes(&self.store)?, self.inodes.bytes(&self.store)?))
    }

    /// Reads an inode.
    ///
    /// # Errors
    /// [`Error`] if it is damaged or can't be read.
    pub fn inode(&self, address: InodeAddress) -> Result<Inode, Error> {
        Ok(self.inode_and_rest(address)?.0)
    }

    fn inode_and_rest(&self, address: InodeAddress) -> Result<(Inode, Reader<'_>), Error> {
        let mut reader = self.inodes.read_at(&self.store, address.0)?;
        let inode = inode::read(&mut reader, &self.ids)?;
        Ok((inode, reader))
    }

    /// The names in a directory, in the order in which they are stored. There are none in other files.
    ///
    /// # Errors
    /// [`Error`] if they are damaged or can't be read.
    pub fn entries(&self, inode: &Inode) -> Result<Vec<Entry>, Error> {
        match &inode.kind {
            Kind::Directory(listing) if listing.size > 0 => {
                let mut reader = self.directories.read_at(&self.store, listing.address)?;
                directory::read(&mut reader, listing.size)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The extended attributes of a set.
    ///
    /// # Errors
    /// [`Error`] if there is no such set, or it is damaged or can't be read.
    pub fn xattrs(&self, set: u32) -> Result<Vec<Xattr>, Error> {
        let none = Corruption::Entry { part: Part::XattrIds, number: set.into(), count: 0 };
        self.xattrs.as_ref().ok_or(none)?.read(&self.store, set)
    }

    /// Opens a regular file. `None`: it is a file of another type.
    ///
    /// # Errors
    /// [`Error`] if the inode or the list of its blocks is damaged or can't be read.
    pub fn file(&self, address: InodeAddress) -> Result<Option<File<'_>>, Error> {
        let (inode, mut list) = self.inode_and_rest(address)?;
        let Kind::Regular(regular) = inode.kind else { return Ok(None) };
        File::open(&self.store, regular, &mut list, &self.fragments).map(Some)
    }
}
