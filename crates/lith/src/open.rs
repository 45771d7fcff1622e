//! Defines [`open`], which opens whatever a path leads to: a tree, or an image with its further devices.

use std::{io, path::Path, sync::Arc};

use lith_bases::Search;
use lith_device::{FileDevice, ReadAt};
use lith_reader::{Image, OpenError};
use lith_source::Source;

use crate::Error;

/// What is at a path.
#[derive(Debug)]
pub enum Opened {
    /// A source of another kind than an EROFS image, read.
    Tree(Source),
    /// An EROFS image.
    Image(Box<Image>),
}

/// Opens the source at a path, as [`lith_source::open`] does, and if it is an image, its further devices. `search` is where
/// these are.
///
/// # Errors
/// [`Error`] names the file that can't be read, and the cause.
pub fn open(
    path: &Path,
    search: &Search,
    read: &lith_source::Options,
    reader: lith_reader::Options,
) -> Result<Opened, Error> {
    #[cfg(feature = "remote")]
    let shown = lith_remote::shown(&path.to_string_lossy());
    let primary = match lith_source::open(path, read)? {
        lith_source::Opened::Source(source) => return Ok(Opened::Tree(source)),
        lith_source::Opened::Image(file) => device(path, FileDevice::new(file))?,
        lith_source::Opened::Arriving(device) => Box::new(device),
        #[cfg(feature = "remote")]
        lith_source::Opened::RemoteImage(device) => Box::new(device),
    };
    // There may be a signature in an address.
    #[cfg(feature = "remote")]
    let is_address = lith_remote::is_address(path.as_os_str().as_encoded_bytes());
    #[cfg(feature = "remote")]
    let path = if is_address { Path::new(&shown) } else { path };
    let further = lith_bases::find_for(&*primary, path, search);
    let mut all = vec![primary];
    let further = further.map_err(|error| about(path, error))?;
    all.extend(further.into_iter().map(|found| Box::new(found.device) as Box<dyn ReadAt>));
    let image = Image::open_with(all, reader).map_err(|error| about(path, error))?;
    Ok(Opened::Image(Box::new(image)))
}

impl Opened {
    /// The tree of what was opened at `path`.
    ///
    /// # Errors
    /// [`Error`] if the image is not a valid tree.
    pub fn into_source(self, path: &Path, read: &lith_source::Options) -> Result<Source, Error> {
        match self {
            Self::Tree(source) => Ok(source),
            Self::Image(image) => {
                lith_source::image(Arc::new(*image), path, read).map_err(|error| about(path, error))
            }
        }
    }
}

fn device(path: &Path, opened: io::Result<FileDevice>) -> Result<Box<dyn ReadAt>, Error> {
    let failed = |error| about(path, lith_reader::Error::from(OpenError::File(error)));
    Ok(Box::new(opened.map_err(failed)?))
}

fn about(path: &Path, error: impl Into<Error>) -> Error {
    Error::Layer { path: path.to_owned(), source: Box::new(error.into()) }
}
