//! Defines the entry functions that collect facts about an image.

use lith_reader::Image;

use crate::{
    error::FactsError,
    facts::{Contents, Facts, Summary},
    options::Options,
    walk::Walk,
};

/// Counts what is in an image. Reads every inode and the map of every file, but no data.
///
/// # Errors
/// [`FactsError`] if a part of the image is corrupt or can't be read.
pub fn census(image: &Image) -> Result<Contents, FactsError> {
    let mut walk = Walk::new(image, None)?;
    walk.run()?;
    Ok(walk.finish().0)
}

/// Gathers all facts about an image, except its estimated size with other options. Reads what [`census()`] reads, and
/// directories, extended attributes, symlinks and the first bytes of some files.
///
/// # Errors
/// As [`census()`].
pub fn gather(image: &Image, options: Options) -> Result<Facts, FactsError> {
    let mut walk = Walk::new(image, Some(options))?;
    walk.run()?;
    let (contents, details) = walk.finish();
    Ok(Facts { summary: Summary::new(image), contents: Some(contents), details, presets: None })
}
