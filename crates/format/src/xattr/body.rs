//! Defines the xattr body, which follows an inode.

use alloc::vec::Vec;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U32};

use super::{Entries, Entry, XattrError};

/// Bytes in a body before its shared ids.
pub const BODY_HEADER_SIZE: usize = 12;

/// `erofs_xattr_ibody_header`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
struct RawHeader {
    name_filter: U32,
    shared_count: u8,
    reserved: [u8; 7],
}
const _: () = assert!(size_of::<RawHeader>() == BODY_HEADER_SIZE);

/// Bytes in the body of an inode whose `i_xattr_icount` is `icount`.
#[must_use]
pub const fn body_size_of(icount: u16) -> usize {
    match icount {
        0 => 0,
        _ => BODY_HEADER_SIZE + 4 * (icount as usize - 1),
    }
}

/// The `i_xattr_icount` of a body of `size` bytes (0, or 16 and more, a multiple of 4); `None` if
/// there is none.
#[must_use]
pub fn icount_of(size: usize) -> Option<u16> {
    if size == 0 {
        return Some(0);
    }
    let words = size.checked_sub(BODY_HEADER_SIZE)?;
    if words == 0 || !words.is_multiple_of(4) {
        return None;
    }
    u16::try_from(words / 4 + 1).ok()
}

/// Bytes in a body of so many shared ids, and inline entries of so many bytes altogether; 0 without any.
///
/// # Errors
/// No inode can have so many.
pub fn body_size(shared: usize, inline: usize) -> Result<usize, XattrError> {
    if shared == 0 && inline == 0 {
        return Ok(0);
    }
    let ids = shared.saturating_mul(4);
    let size = BODY_HEADER_SIZE.saturating_add(ids).saturating_add(inline);
    if shared > usize::from(u8::MAX) || icount_of(size).is_none() {
        return Err(XattrError::BodyTooLarge { size, shared });
    }
    Ok(size)
}

/// A file's attributes: those beside its inode, and the ids of shared ones.
#[derive(Clone, Copy, Debug)]
pub struct XattrBody<'a> {
    /// A bit is set where surely no attribute hashes to it; of a meaning only with
    /// [`crate::superblock::Superblock::has_xattr_filter`].
    pub filter: u32,
    shared: &'a [U32],
    inline: &'a [u8],
}

impl<'a> XattrBody<'a> {
    /// Reads a body from exactly its bytes: [`body_size_of`] of them, from where the inode ends.
    ///
    /// # Errors
    /// The body is a header only, or shorter than its shared ids.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, XattrError> {
        let size = bytes.len();
        if size == BODY_HEADER_SIZE {
            return Err(XattrError::HeaderOnly);
        }
        let Ok((header, rest)) = RawHeader::ref_from_prefix(bytes) else {
            return Err(XattrError::Truncated { found: size });
        };
        let count = header.shared_count;
        let Ok((shared, inline)) = <[U32]>::ref_from_prefix_with_elems(rest, count.into()) else {
            return Err(XattrError::SharedCount { count, size });
        };
        Ok(Self { filter: header.name_filter.get(), shared, inline })
    }

    /// The ids of shared attributes; see [`super::shared_position`].
    #[must_use]
    pub fn shared_ids(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.shared.iter().map(|id| id.get())
    }

    /// The attributes stored here.
    #[must_use]
    pub const fn entries(&self) -> Entries<'a> {
        Entries::new(self.inline)
    }
}

/// Appends a body, of [`body_size`] bytes: no byte if there is neither a shared nor an inline attribute.
///
/// # Errors
/// There are too many, or a name or value is too long; what was appended is then of no use.
pub fn encode_body(
    filter: u32,
    shared: &[u32],
    inline: &[Entry<'_>],
    out: &mut Vec<u8>,
) -> Result<(), XattrError> {
    let size = body_size(shared.len(), inline.iter().map(Entry::size).sum())?;
    if size == 0 {
        return Ok(());
    }
    out.reserve(size);
    let shared_count = u8::try_from(shared.len()).expect("`body_size` refuses more than 255");
    let header = RawHeader { name_filter: filter.into(), shared_count, reserved: [0; 7] };
    out.extend_from_slice(header.as_bytes());
    out.extend(shared.iter().flat_map(|id| id.to_le_bytes()));
    inline.iter().try_for_each(|entry| entry.encode_into(out))
}
