//! Reads records that begin with their length: configs of algorithms, prefixes of xattr names.

use zerocopy::{FromBytes, little_endian::U16};

/// The payload of the record at `position`, moved up to a multiple of 4, and where it ends.
pub(crate) fn record_at(bytes: &[u8], position: usize) -> Option<(&[u8], usize)> {
    let start = position.checked_next_multiple_of(4)?;
    let (length, rest) = U16::ref_from_prefix(bytes.get(start..)?).ok()?;
    let length = usize::from(length.get());
    Some((rest.get(..length)?, start + size_of::<U16>() + length))
}
