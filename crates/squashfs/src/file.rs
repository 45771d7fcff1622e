//! Reads the bytes of regular files.

use std::fmt;

use lith_device::DeviceError;
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U32, U64},
};

use crate::{
    Corruption, Error,
    blocks::Blocks,
    inode::{FragmentPlace, Regular},
    metadata::Reader,
    store::Store,
    stored::StoredBlock,
    table::Table,
};

/// An entry of the fragment table.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct StoredFragment {
    start_block: U64,
    size: U32,
    unused: U32,
}

const _: () = assert!(size_of::<StoredFragment>() == 16);

/// A stretch of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataRange {
    /// Stored bytes up to this position.
    Data {
        /// The first position after the stretch.
        end: u64,
    },
    /// Nothing stored up to this position: all zeros.
    Hole {
        /// The first position after the stretch.
        end: u64,
    },
}

/// An open regular file.
pub struct File<'a> {
    store: &'a Store,
    size: u64,
    blocks: Blocks,
    tail: Option<Tail>,
}

/// The end of a file, in a fragment block.
#[derive(Clone, Copy, Debug)]
struct Tail {
    /// Where it starts in the file.
    start: u64,
    fragment: StoredBlock,
    /// Where it starts in the fragment block.
    offset: u32,
}

impl<'a> File<'a> {
    /// Opens a regular file, whose list of blocks is read next, in a table of fragment blocks.
    pub(crate) fn open(
        store: &'a Store,
        regular: Regular,
        list: &mut Reader<'_>,
        fragments: &Table,
    ) -> Result<Self, Error> {
        let Regular { size, start, fragment } = regular;
        let most = store.block_size;
        let (whole, part) = (size / u64::from(most), size % u64::from(most));
        let fragment = fragment.filter(|_| part > 0);
        let count = whole + u64::from(part > 0 && fragment.is_none());
        let blocks = Blocks::read(list, count, start, most)?;
        let tail = |place: FragmentPlace| {
            let entry: StoredFragment = fragments.get(store, place.number.into())?;
            let fragment = StoredBlock::new(entry.start_block.get(), entry.size.get(), most)?;
            Ok::<_, Error>(Tail { start: whole * u64::from(most), fragment, offset: place.offset })
        };
        Ok(Self { store, size, blocks, tail: fragment.map(tail).transpose()? })
    }
}

impl fmt::Debug for File<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("size", &self.size).finish_non_exhaustive()
    }
}

impl File<'_> {
    /// Bytes, holes included.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Fills `buf` with the bytes from a position on; all of them must be within the file.
    ///
    /// # Errors
    /// [`Error`] if they are damaged or can't be read.
    pub fn read_at(&self, mut buf: &mut [u8], mut position: u64) -> Result<(), Error> {
        let (length, size) = (buf.len() as u64, self.size);
        if position.checked_add(length).is_none_or(|end| end > size) {
            return Err(DeviceError::PastEnd { position, length, size }.into());
        }
        let block_size = u64::from(self.store.block_size);
        while !buf.is_empty() {
            let start = position / block_size * block_size;
            let length = (start + block_size).min(size) - start;
            // A block has at most 1 MiB.
            let left = usize::try_from(start + length - position).unwrap_or(usize::MAX);
            let (part, rest) = buf.split_at_mut(left.min(buf.len()));
            let length = usize::try_from(length).expect("less than a block");
            let skip = usize::try_from(position - start).expect("less than a block");
            self.read_block(start / block_size, part, skip, length)?;
            position += part.len() as u64;
            buf = rest;
        }
        Ok(())
    }

    /// Fills `buf` with bytes of one block of `length` bytes, after the first `skip`.
    fn read_block(
        &self,
        number: u64,
        buf: &mut [u8],
        skip: usize,
        length: usize,
    ) -> Result<(), Error> {
        let block_size = u64::from(self.store.block_size);
        if let Some(tail) = self.tail.filter(|tail| tail.start == number * block_size) {
            return self.read_tail(&tail, buf, skip, length);
        }
        let Some(stored) = self.blocks.get(number) else {
            buf.fill(0);
            return Ok(());
        };
        let expected = length;
        let found = if buf.len() == length {
            self.store.decode(stored, buf)?
        } else {
            let block = self.store.data_block(stored, length)?;
            if let Some(bytes) = block.bytes.get(skip..).and_then(|rest| rest.get(..buf.len())) {
                buf.copy_from_slice(bytes);
            }
            block.bytes.len()
        };
        let position = stored.position;
        let wrong = Corruption::BlockLength { position, found, expected };
        if found == expected { Ok(()) } else { Err(wrong.into()) }
    }

    fn read_tail(
        &self,
        tail: &Tail,
        buf: &mut [u8],
        skip: usize,
        length: usize,
    ) -> Result<(), Error> {
        let most = usize::try_from(self.store.block_size).expect("32 bits");
        let block = self.store.data_block(tail.fragment, most)?;
        let start = usize::try_from(tail.offset).expect("32 bits");
        let whole = block.bytes.get(start..).and_then(|rest| rest.get(..length));
        let size = block.bytes.len();
        let outside = Corruption::Tail { offset: tail.offset, length, size };
        let bytes = whole.and_then(|whole| whole.get(skip..)?.get(..buf.len()));
        buf.copy_from_slice(bytes.ok_or(outside)?);
        Ok(())
    }

    /// Whether there is data or a hole at a position within the file, and where that ends.
    #[must_use]
    pub fn range_at(&self, position: u64) -> DataRange {
        let block_size = u64::from(self.store.block_size);
        let position_of = |number: u64| number.saturating_mul(block_size).min(self.size);
        match self.blocks.hole_at(position / block_size) {
            Ok(hole) => DataRange::Hole { end: position_of(hole.end) },
            Err(next) => DataRange::Data { end: next.map_or(self.size, position_of) },
        }
    }
}
