//! How is the metadata written when every place is known? Writes inodes, directories and the superblock.

mod devices;
mod metadata;
mod superblock;
mod window;

use lith_format::addr::Nid;

pub(crate) use self::{metadata::Metadata, window::Sink};
use crate::{
    BuildError, Digest,
    place::Placement,
    plan::Geometry,
    store::{Destination, StoredFiles},
};

/// A whole image, except its superblock.
#[derive(Clone, Copy)]
pub(crate) struct Image<'a> {
    pub(crate) geometry: Geometry<'a>,
    pub(crate) stored: &'a StoredFiles,
    pub(crate) placement: &'a Placement,
    pub(crate) destination: Destination<'a>,
    pub(crate) root: Nid,
    /// The digest of all metadata and of the content of files.
    pub(crate) content: Digest,
}

/// Completes an image: extends it to its size, and writes the superblock.
///
/// # Errors
/// [`BuildError`] if it can't be written.
pub(crate) fn complete(image: &Image<'_>) -> Result<(), BuildError> {
    let Placement { end, image_end, .. } = *image.placement;
    if image_end > end {
        // Writing the last byte works with files and devices alike.
        let written = image.destination.image.write_all_at(&[0], image_end - 1);
        written.map_err(|source| BuildError::Output { action: "write", source })?;
    }
    superblock::write(image)
}
