//! Reads the names in directories.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32},
};

use crate::{Corruption, Error, InodeAddress, metadata::Reader};

/// A name in a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The name, of any bytes; damaged images may have impossible ones.
    pub name: Vec<u8>,
    /// The inode that it leads to.
    pub inode: InodeAddress,
    /// Whether that is a directory.
    pub is_directory: bool,
}

/// What several entries have in common, before them.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredHeader {
    /// The number of entries less one.
    count: U32,
    start_block: U32,
    inode_number: U32,
}

/// What is before each name.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct StoredEntry {
    offset: U16,
    inode_number: U16,
    kind: U16,
    /// The length of the name less one.
    length: U16,
}

const _: () = assert!(size_of::<StoredHeader>() == 12);
const _: () = assert!(size_of::<StoredEntry>() == 8);

/// The type of a directory in an entry.
const DIRECTORY: u16 = 1;

/// Reads names of `size` bytes together.
pub(crate) fn read(reader: &mut Reader<'_>, size: u32) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    let mut left = Left { bytes: size, size };
    while left.bytes > 0 {
        left.take(size_of::<StoredHeader>())?;
        let header: StoredHeader = reader.get()?;
        let block = u64::from(header.start_block.get()) << 16;
        for _entry in 0..=header.count.get() {
            left.take(size_of::<StoredEntry>())?;
            let entry: StoredEntry = reader.get()?;
            let length = usize::from(entry.length.get()) + 1;
            left.take(length)?;
            entries.push(Entry {
                name: reader.bytes(length)?,
                inode: InodeAddress(block | u64::from(entry.offset.get())),
                is_directory: entry.kind.get() == DIRECTORY,
            });
        }
    }
    Ok(entries)
}

/// What is left to read of a directory.
struct Left {
    bytes: u32,
    size: u32,
}

impl Left {
    fn take(&mut self, bytes: usize) -> Result<(), Corruption> {
        let left = u32::try_from(bytes).ok().and_then(|bytes| self.bytes.checked_sub(bytes));
        self.bytes = left.ok_or(Corruption::Listing(self.size))?;
        Ok(())
    }
}
