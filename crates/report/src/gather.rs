//! What is in an image, and what takes how much?

use lith_reader::Image;

use crate::{
    FactsError, Summary,
    facts::{Contents, Facts},
    walk::Walk,
};

/// Counts what is in an image. Looks at every inode and every extent of files, but at no data.
///
/// # Errors
/// [`FactsError`] if a part of the image can't be read, or makes no sense.
pub fn census(image: &Image) -> Result<Contents, FactsError> {
    let mut walk = Walk::new(image, None)?;
    walk.run()?;
    Ok(walk.finish()?.0)
}

/// What is gathered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Whether equal files are looked for that are stored several times: all files of equal sizes are read.
    pub equal_files: bool,
}

/// Gathers all facts about an image but for its size if it were made in other ways. Looks at the same as [`census()`],
/// at directories, extended attributes and symlinks, and at the first bytes of some files.
///
/// # Errors
/// As [`census()`].
pub fn gather(image: &Image, options: Options) -> Result<Facts, FactsError> {
    let mut walk = Walk::new(image, Some(options))?;
    walk.run()?;
    let (contents, details) = walk.finish()?;
    Ok(Facts { summary: Summary::new(image), contents: Some(contents), details, presets: None })
}
