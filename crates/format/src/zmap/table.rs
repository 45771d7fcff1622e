//! Loads the index of an lcluster from a table of either form.

use core::ops::Range;

use super::compact::CompactTable;
use super::full::FullTable;
use super::header::{IndexHeader, IndexLayout};
use super::index::{IndexError, LclusterIndex};
use crate::addr::{BlockBits, La, Lcn};

/// An index table of either form and its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexTable {
    start: u64,
    form: Form,
    last: Lcn,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Full(FullTable),
    Compact(CompactTable),
}

impl IndexTable {
    /// The table of a file of `file_size` bytes whose map header stands at `header_at` in its metadata space.
    ///
    /// # Errors
    /// [`IndexError`] if the lclusters are too large for its packs, or the table would end beyond 2^64.
    pub fn new(
        header: &IndexHeader,
        block: BlockBits,
        file_size: u64,
        header_at: u64,
    ) -> Result<Self, IndexError> {
        let last = header.lcn(La(file_size.saturating_sub(1)));
        let (start, form) = match header.layout {
            IndexLayout::Full => {
                (header_at.checked_add(16), Form::Full(FullTable::new(header, file_size)))
            }
            IndexLayout::Compact => {
                let start = header_at.checked_add(8);
                let [e_mod_32, ..] = (start.unwrap_or(0) % 32).to_le_bytes();
                let table = CompactTable::new(header, block, file_size, e_mod_32)?;
                (start, Form::Compact(table))
            }
        };
        // A start beyond 2^64 is refused with the end, below.
        let table = Self { start: start.unwrap_or(u64::MAX), form, last };
        match table.start.checked_add(table.size()) {
            Some(end) if end < u64::MAX => Ok(table),
            _ => Err(IndexError::TableOverflow { header_at, size: table.size() }),
        }
    }

    /// Where the table begins in the metadata space.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// Bytes of the table.
    #[must_use]
    pub const fn size(&self) -> u64 {
        match &self.form {
            Form::Full(table) => table.size(),
            Form::Compact(table) => table.size(),
        }
    }

    /// Which bytes of the table, counted from its start, are needed to decode the index of `lcn`: 8 or 32.
    ///
    /// # Errors
    /// [`IndexError::BeyondTable`] if there is none.
    pub fn range(&self, lcn: Lcn) -> Result<Range<u64>, IndexError> {
        match &self.form {
            Form::Full(table) => table.range(lcn),
            Form::Compact(table) => table.range(lcn),
        }
    }

    /// The index of `lcn` from the bytes at its range.
    ///
    /// # Errors
    /// [`IndexError`] if the bytes are too few or make no sense.
    pub fn decode(&self, bytes: &[u8], lcn: Lcn) -> Result<LclusterIndex, IndexError> {
        match &self.form {
            Form::Full(table) => table.decode(bytes, lcn),
            Form::Compact(table) => table.decode(bytes, lcn),
        }
    }

    /// Where an inline pcluster begins in the metadata space: after the index of the file's last byte.
    ///
    /// # Errors
    /// [`IndexError::BeyondTable`] if the file is empty.
    pub fn inline_at(&self) -> Result<u64, IndexError> {
        // The whole table was found to end below 2^64.
        Ok(self.start + self.range(self.last)?.end)
    }
}

/// Where indexes are loaded from.
pub trait IndexSource {
    /// Why one can't be loaded.
    type Error;

    /// The index of `lcn`, which is within the file.
    ///
    /// # Errors
    /// What the source names.
    fn load(&mut self, lcn: Lcn) -> Result<LclusterIndex, Self::Error>;
}
