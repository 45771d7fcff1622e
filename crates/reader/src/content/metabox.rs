//! Reads the image's metadata, of which the metabox inode's content may be a part.

use lith_format::superblock::Superblock;

use crate::{
    cache::Bytes,
    devices::Devices,
    error::{Corruption, Fault},
    image::Image,
    metadata::Metadata,
    piece,
};

impl Metadata for Image {
    fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    fn devices(&self) -> &Devices {
        &self.devices
    }

    fn metabox_size(&self) -> u64 {
        self.metabox_inode().map_or(0, |inode| inode.size)
    }

    fn metabox_piece(&self, number: u64) -> Result<Bytes, Fault> {
        let metabox = self.metabox.as_ref().ok_or(Corruption::NoMetabox)?;
        let (position, length) = piece::extent_of(number, metabox.inode.size);
        if length == 0 {
            return Ok(Bytes::default());
        }
        self.metabox_pieces
            .get_or_load(number, length, |piece| metabox.content(self).read(piece, position))
    }
}
