//! Defines the superblock.

use lith_device::ReadAt;
use zerocopy::{
    FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

use crate::{Compression, Corruption, Error, Part};

/// The first four bytes of an image.
pub const MAGIC: [u8; 4] = *b"hsqs";

/// The address of a table that an image lacks.
const NONE: u64 = u64::MAX;

/// `struct squashfs_super_block`, at byte 0.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Stored {
    magic: [u8; 4],
    inodes: U32,
    mkfs_time: U32,
    block_size: U32,

    fragments: U32,
    compression: U16,
    block_log: U16,
    flags: U16,
    ids: U16,
    major: U16,
    minor: U16,

    root_inode: U64,
    bytes_used: U64,

    id_table_start: U64,
    xattr_id_table_start: U64,

    inode_table_start: U64,
    directory_table_start: U64,

    fragment_table_start: U64,
    lookup_table_start: U64,
}

const _: () = assert!(size_of::<Stored>() == 96);

/// What is in an image, and where. Addresses are bytes from the start of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Superblock {
    /// The number of inodes.
    pub inodes: u32,
    /// When the image was made: seconds since 1970.
    pub mkfs_time: u32,
    /// Bytes in a data block, decoded: a power of two from 4 KiB to 1 MiB.
    pub block_size: u32,
    /// The number of fragment blocks.
    pub fragments: u32,
    /// How blocks are compressed.
    pub compression: Compression,
    /// The number of owners and groups.
    pub ids: u16,
    /// The address of the root's inode.
    pub root: u64,
    /// Bytes of the image; padding may follow.
    pub bytes_used: u64,
    /// Where the addresses of the id table's blocks are.
    pub id_table: u64,
    /// Where the head of the xattr id table is, if there is one.
    pub xattr_id_table: Option<u64>,
    /// Where the inode table is.
    pub inode_table: u64,
    /// Where the directory table is, which follows the inode table.
    pub directory_table: u64,
    /// Where the addresses of the fragment table's blocks are, if there is one.
    pub fragment_table: Option<u64>,
    /// Where the addresses of the export table's blocks are, if there is one.
    pub export_table: Option<u64>,
}

impl Superblock {
    /// Reads the superblock at the beginning of a device.
    ///
    /// # Errors
    /// [`Error`] says why it is none that this crate can read.
    pub fn read(device: &dyn ReadAt) -> Result<Self, Error> {
        let mut stored = Stored::new_zeroed();
        if device.size() < size_of::<Stored>() as u64 {
            return Err(Error::NotSquashFs);
        }
        device.read_at(stored.as_mut_bytes(), 0)?;
        Self::parse(&stored)
    }

    fn parse(stored: &Stored) -> Result<Self, Error> {
        if stored.magic != MAGIC {
            return Err(Error::NotSquashFs);
        }
        let (major, minor) = (stored.major.get(), stored.minor.get());
        if (major, minor) != (4, 0) {
            return Err(Error::Version { major, minor });
        }
        let number = stored.compression.get();
        let compression = Compression::of(number).ok_or(Error::Compression(number))?;
        let (size, log) = (stored.block_size.get(), stored.block_log.get());
        if !(12..=20).contains(&log) || size != 1 << log {
            return Err(Corruption::BlockSize { size, log }.into());
        }
        let present = |start: U64| Some(start.get()).filter(|start| *start != NONE);
        let superblock = Self {
            inodes: stored.inodes.get(),
            mkfs_time: stored.mkfs_time.get(),
            block_size: size,
            fragments: stored.fragments.get(),
            compression,
            ids: stored.ids.get(),
            root: stored.root_inode.get(),
            bytes_used: stored.bytes_used.get(),
            id_table: stored.id_table_start.get(),
            xattr_id_table: present(stored.xattr_id_table_start),
            inode_table: stored.inode_table_start.get(),
            directory_table: stored.directory_table_start.get(),
            fragment_table: present(stored.fragment_table_start),
            export_table: present(stored.lookup_table_start),
        };
        superblock.check()?;
        Ok(superblock)
    }

    /// Checks that the inode table comes before the directory table, and that before all others, as Linux requires it.
    fn check(&self) -> Result<(), Corruption> {
        if self.inode_table >= self.directory_table {
            return Err(Corruption::Table { part: Part::Inodes, start: self.inode_table });
        }
        let others = [Some(self.id_table), self.fragment_table, self.xattr_id_table];
        if others.into_iter().flatten().any(|start| start <= self.directory_table) {
            return Err(Corruption::Table { part: Part::Directories, start: self.directory_table });
        }
        Ok(())
    }
}
