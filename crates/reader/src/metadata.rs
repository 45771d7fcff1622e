//! Defines how metadata is read: inodes, xattrs, tables of extents and inline data.
//!
//! Metadata is read from the primary device or from the content of the metabox inode. That content has a map of extents,
//! which is metadata itself. So the maps are read through the trait [`Metadata`], which the image implements.

use lith_format::{addr::Pa, device_table::DevicePa, superblock::Superblock};

use crate::{
    cache::Bytes,
    devices::Devices,
    error::{Corruption, Fault},
    memory,
    piece::{Space, copy_pieces, locate},
};

pub(crate) trait Metadata: Sync {
    fn superblock(&self) -> &Superblock;

    fn devices(&self) -> &Devices;

    /// Bytes in the metabox inode, 0 if there is none.
    fn metabox_size(&self) -> u64;

    /// A piece of the metabox inode's content; shorter at its end, empty after it.
    fn metabox_piece(&self, number: u64) -> Result<Bytes, Fault>;

    /// Fills `buf` with metadata from `position` on.
    fn read_metadata(&self, space: Space, position: u64, buf: &mut [u8]) -> Result<(), Fault> {
        match space {
            Space::Primary => {
                let at = DevicePa { device: 0, pa: Pa(position) };
                self.devices().read_cached(at, buf)
            }
            Space::Metabox => {
                let copied = copy_pieces(position, buf, |number| self.metabox_piece(number))?;
                if copied == buf.len() {
                    return Ok(());
                }
                let (length, size) = (buf.len() as u64, self.metabox_size());
                Err(Corruption::BeyondMetabox { position, length, size }.into())
            }
        }
    }

    /// As much metadata from `position` on as there is, but at most `length` bytes.
    fn read_metadata_up_to(
        &self,
        space: Space,
        position: u64,
        length: usize,
    ) -> Result<Vec<u8>, Fault> {
        let size = match space {
            Space::Primary => self.devices().size(0),
            Space::Metabox => self.metabox_size(),
        };
        let rest = memory::length(size.saturating_sub(position));
        let mut bytes = vec![0; length.min(rest)];
        self.read_metadata(space, position, &mut bytes)?;
        Ok(bytes)
    }

    /// A piece of a space; shorter at its end, empty after it.
    fn metadata_piece(&self, space: Space, number: u64) -> Result<Bytes, Fault> {
        match space {
            Space::Primary => self.devices().piece(0, number),
            Space::Metabox => self.metabox_piece(number),
        }
    }
}

/// A view of a space that holds the piece it read last, for many small reads side by side.
pub(crate) struct View<'a> {
    metadata: &'a dyn Metadata,
    space: Space,
    held: Option<(u64, Bytes)>,
}

impl<'a> View<'a> {
    pub(crate) const fn new(metadata: &'a dyn Metadata, space: Space) -> Self {
        Self { metadata, space, held: None }
    }

    /// The `length` bytes at `position` if they are in one piece, as nearly all are.
    pub(crate) fn slice(&mut self, position: u64, length: usize) -> Result<Option<&[u8]>, Fault> {
        let (number, start) = locate(position);
        if self.held.as_ref().is_none_or(|(held, _)| *held != number) {
            self.held = Some((number, self.metadata.metadata_piece(self.space, number)?));
        }
        let piece = self.held.as_ref().map(|(_, piece)| piece);
        Ok(piece.and_then(|piece| piece.get(start..start.checked_add(length)?)))
    }

    /// Fills `buf` with the bytes from `position` on.
    pub(crate) fn read(&mut self, position: u64, buf: &mut [u8]) -> Result<(), Fault> {
        if let Some(found) = self.slice(position, buf.len())? {
            buf.copy_from_slice(found);
            return Ok(());
        }
        self.metadata.read_metadata(self.space, position, buf)
    }
}
