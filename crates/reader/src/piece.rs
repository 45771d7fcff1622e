//! Defines the spaces that hold metadata, and the pieces in which it is read and cached.

use crate::{
    cache::Bytes,
    error::{Corruption, Fault},
};

/// Bytes of metadata that are read and cached together: one read serves hundreds of inodes.
pub(crate) const PIECE: u64 = 16 << 10;

/// The space in which a position of metadata is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// The primary device.
    Primary,
    /// The content of the metabox inode.
    Metabox,
}

/// Where piece `number` of a space of `size` bytes starts, and its length: the last one is shorter, those after it are
/// empty.
pub(crate) fn extent_of(number: u64, size: u64) -> (u64, usize) {
    let start = number.saturating_mul(PIECE);
    let length = size.saturating_sub(start).min(PIECE);
    (start, usize::try_from(length).expect("a piece has at most 16 KiB"))
}

/// The number of the piece that holds `position`, and where in the piece that is.
pub(crate) fn locate(position: u64) -> (u64, usize) {
    let within = usize::try_from(position % PIECE).expect("a piece has at most 16 KiB");
    (position / PIECE, within)
}

/// Fills `buf` from the pieces that hold it, up to the first one that is too short; returns the bytes filled.
pub(crate) fn copy_pieces(
    position: u64,
    buf: &mut [u8],
    mut piece: impl FnMut(u64) -> Result<Bytes, Fault>,
) -> Result<usize, Fault> {
    let mut done = 0;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = position.checked_add(done as u64).ok_or(Corruption::Address)?;
        let (number, start) = locate(at);
        let piece = piece(number)?;
        let found = piece.get(start..).unwrap_or_default();
        let (found, _) = found.split_at(found.len().min(rest.len()));
        if found.is_empty() {
            break;
        }
        let (to, _) = rest.split_at_mut(found.len());
        to.copy_from_slice(found);
        done += found.len();
    }
    Ok(done)
}
