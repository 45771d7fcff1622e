//! Defines the entry of one extended attribute.

use alloc::vec::Vec;
use core::iter::FusedIterator;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U16};

use super::{NAME_REST_MAX, XattrError};

/// Bytes in an entry before its name.
pub const ENTRY_HEADER_SIZE: usize = 4;
/// Bytes in the longest value.
pub const VALUE_MAX: usize = 65535;

/// `erofs_xattr_entry`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawEntry {
    name_len: u8,
    name_index: u8,
    value_size: U16,
}
const _: () = assert!(size_of::<RawEntry>() == ENTRY_HEADER_SIZE);

impl RawEntry {
    fn unpadded_size(self) -> usize {
        unpadded_size(self.name_len.into(), self.value_size.get().into())
    }
}

const fn unpadded_size(name: usize, value: usize) -> usize {
    ENTRY_HEADER_SIZE + name + value
}

/// Bytes that the entry with this header takes, padding included: a multiple of 4, at most 65796.
#[must_use]
pub fn entry_size(header: [u8; ENTRY_HEADER_SIZE]) -> usize {
    let raw: RawEntry = zerocopy::transmute!(header);
    raw.unpadded_size().next_multiple_of(4)
}

/// An attribute as stored, inline or shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// The number of the name's prefix, short or (from 0x80 on) long.
    pub index: u8,
    /// The name without that prefix.
    pub rest: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Reads the entry at the start of `bytes`, and returns what follows its padding. Of the last entry
    /// the padding may be missing.
    ///
    /// # Errors
    /// The entry ends beyond `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), XattrError> {
        let cut_off = |needed| XattrError::EntryCutOff { needed, found: bytes.len() };
        let Ok((raw, after)) = RawEntry::ref_from_prefix(bytes) else {
            return Err(cut_off(ENTRY_HEADER_SIZE));
        };
        let size = raw.unpadded_size();
        let (name_len, value_size) = (raw.name_len.into(), raw.value_size.get().into());
        let (rest, after) = after.split_at_checked(name_len).ok_or_else(|| cut_off(size))?;
        let (value, _) = after.split_at_checked(value_size).ok_or_else(|| cut_off(size))?;
        let next = bytes.get(size.next_multiple_of(4)..).unwrap_or_default();
        Ok((Self { index: raw.name_index, rest, value }, next))
    }

    /// Bytes that the entry takes, padding included.
    #[must_use]
    pub const fn size(&self) -> usize {
        unpadded_size(self.rest.len(), self.value.len()).next_multiple_of(4)
    }

    /// Appends the entry with its padding; what precedes it must end at a multiple of 4.
    ///
    /// # Errors
    /// The name or the value is too long.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), XattrError> {
        let (name, value) = (self.rest.len(), self.value.len());
        let name_len = u8::try_from(name).ok().filter(|_| name <= NAME_REST_MAX);
        let name_len = name_len.ok_or(XattrError::NameTooLong { length: name })?;
        let Ok(value_size) = u16::try_from(value) else {
            return Err(XattrError::ValueTooLong { length: value });
        };
        let raw = RawEntry { name_len, name_index: self.index, value_size: value_size.into() };
        out.extend_from_slice(raw.as_bytes());
        out.extend_from_slice(self.rest);
        out.extend_from_slice(self.value);
        let padding = self.size() - unpadded_size(name, value);
        out.resize(out.len() + padding, 0);
        Ok(())
    }

    fn is_padding(&self) -> bool {
        self.index == 0 && self.rest.is_empty() && self.value.is_empty()
    }
}

/// Entries back to back. Those of zeros only are passed over; after an error comes nothing.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    bytes: &'a [u8],
}

impl<'a> Entries<'a> {
    /// The entries in `bytes`, which begin at a multiple of 4.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, XattrError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.bytes.is_empty() {
            match Entry::parse(self.bytes) {
                Ok((entry, next)) => {
                    self.bytes = next;
                    if !entry.is_padding() {
                        return Some(Ok(entry));
                    }
                }
                Err(error) => {
                    self.bytes = &[];
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl FusedIterator for Entries<'_> {}
