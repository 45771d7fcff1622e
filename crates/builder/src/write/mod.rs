//! How is the metadata written when every place is known? Writes inodes, directories and the superblock.

mod devices;
mod directory;
mod hot;
mod image;
mod metadata;
mod moved;
mod superblock;
mod window;

pub(crate) use self::{
    directory::pack_directory,
    image::Image,
    metadata::Metadata,
    window::{Sink, Window},
};
use crate::{BuildError, place::Placement};

/// Completes an image: extends it to its size, and writes the superblock.
///
/// # Errors
/// [`BuildError`] if it can't be written.
pub(crate) fn complete(image: &Image<'_>) -> Result<(), BuildError> {
    let Placement { end, image_end, .. } = *image.placement;
    let output = image.destination.image;
    let failed = |source| BuildError::Output { action: "write", source };
    if image_end > end {
        // Writing the last byte works with files and devices alike.
        output.write_all_at(&[0], image_end - 1).map_err(failed)?;
    }
    // Before the checksum of the first block is taken.
    output.fill_gaps(image_end).map_err(failed)?;
    superblock::write(image)
}
