//! What do the two spaces that hold metadata have at a position?

use lith_format::{addr::Pa, device_table::DevicePa};

use crate::{
    cache::Bytes,
    error::{Corruption, Fault},
    image::Image,
};

/// Bytes of metadata that are read and kept together: one read serves hundreds of inodes.
pub(crate) const PIECE: u64 = 16 << 10;

/// Where positions of metadata are counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// On the primary device.
    Primary,
    /// In the content of the metabox inode.
    Metabox,
}

impl Image {
    /// Fills `buf` with metadata from `position` on.
    pub(crate) fn read_metadata(
        &self,
        space: Space,
        position: u64,
        buf: &mut [u8],
    ) -> Result<(), Fault> {
        match space {
            Space::Primary => {
                let at = DevicePa { device: 0, pa: Pa(position) };
                self.devices.read_cached(at, buf)
            }
            Space::Metabox => {
                let copied = copy_pieces(position, buf, |number| self.metabox_piece(number))?;
                if copied == buf.len() {
                    return Ok(());
                }
                let size = self.metabox.as_ref().map_or(0, |metabox| metabox.inode.size);
                Err(Corruption::BeyondMetabox { position, length: buf.len() as u64, size }.into())
            }
        }
    }

    /// As much metadata from `position` on as there is, but at most `length` bytes.
    pub(crate) fn read_metadata_up_to(
        &self,
        space: Space,
        position: u64,
        length: usize,
    ) -> Result<Vec<u8>, Fault> {
        let size = match space {
            Space::Primary => self.devices.size(0),
            Space::Metabox => self.metabox.as_ref().map_or(0, |metabox| metabox.inode.size),
        };
        let rest = usize::try_from(size.saturating_sub(position)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(rest)];
        self.read_metadata(space, position, &mut bytes)?;
        Ok(bytes)
    }

    fn metadata_piece(&self, space: Space, number: u64) -> Result<Bytes, Fault> {
        match space {
            Space::Primary => self.devices.piece(0, number),
            Space::Metabox => self.metabox_piece(number),
        }
    }

    fn metabox_piece(&self, number: u64) -> Result<Bytes, Fault> {
        let metabox = self.metabox.as_ref().ok_or(Corruption::NoMetabox)?;
        let position = number.saturating_mul(PIECE);
        let length = metabox.inode.size.saturating_sub(position).min(PIECE);
        let length = usize::try_from(length).unwrap_or(0);
        if length == 0 {
            return Ok(Bytes::default());
        }
        self.metabox_pieces
            .get_or_load(number, length, |piece| metabox.content(self).read(piece, position))
    }
}

/// A look at metadata that holds on to the piece it read last, for many small reads side by side.
pub(crate) struct View<'a> {
    image: &'a Image,
    space: Space,
    held: Option<(u64, Bytes)>,
}

impl<'a> View<'a> {
    pub(crate) const fn new(image: &'a Image, space: Space) -> Self {
        Self { image, space, held: None }
    }

    /// The `length` bytes at `position` if they lie in one piece, as nearly all do.
    pub(crate) fn slice(&mut self, position: u64, length: usize) -> Result<Option<&[u8]>, Fault> {
        let number = position / PIECE;
        if self.held.as_ref().is_none_or(|(held, _)| *held != number) {
            self.held = Some((number, self.image.metadata_piece(self.space, number)?));
        }
        let start = usize::try_from(position % PIECE).unwrap_or(usize::MAX);
        let piece = self.held.as_ref().map(|(_, piece)| piece);
        Ok(piece.and_then(|piece| piece.get(start..start.checked_add(length)?)))
    }

    /// Fills `buf` with the bytes from `position` on.
    pub(crate) fn read(&mut self, position: u64, buf: &mut [u8]) -> Result<(), Fault> {
        if let Some(found) = self.slice(position, buf.len())? {
            buf.copy_from_slice(found);
            return Ok(());
        }
        self.image.read_metadata(self.space, position, buf)
    }
}

/// Fills `buf` from the pieces that hold it, until one is too short; returns how far that is.
pub(crate) fn copy_pieces(
    position: u64,
    buf: &mut [u8],
    mut piece: impl FnMut(u64) -> Result<Bytes, Fault>,
) -> Result<usize, Fault> {
    let mut done = 0;
    while done < buf.len() {
        let at = position.checked_add(done as u64).ok_or(Corruption::Address)?;
        let piece = piece(at / PIECE)?;
        let start = usize::try_from(at % PIECE).unwrap_or(usize::MAX);
        let found = piece.get(start..).unwrap_or_default();
        let length = found.len().min(buf.len() - done);
        let (Some(to), Some(from)) = (buf.get_mut(done..done + length), found.get(..length)) else {
            break;
        };
        if length == 0 {
            break;
        }
        to.copy_from_slice(from);
        done += length;
    }
    Ok(done)
}
