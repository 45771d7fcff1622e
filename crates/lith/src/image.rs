//! Defines [`Image`], an open image with all that can be done with it.

use std::{num::NonZeroUsize, ops::Deref, path::Path, sync::Arc, thread};

use lith_device::ReadAt;
use lith_export::{ExtractOptions, Report, Selection};
use lith_source::Source;

use crate::Error;

/// An open image.
///
/// It dereferences to [`reader::Image`](crate::reader::Image), which resolves paths, lists files and reads them. Clones are
/// cheap and share everything; all methods can be called by many threads at once.
#[derive(Clone, Debug)]
pub struct Image(Arc<lith_reader::Image>);

impl Image {
    /// Opens the image in the file or block device at `path`.
    ///
    /// # Errors
    /// [`Error::Read`] if it can't be read, or is not an image that this library can read.
    pub fn open_path(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(lith_reader::Image::open_path(path)?.into())
    }

    /// Opens the image on a device: bytes in memory, or a device of your own.
    ///
    /// # Errors
    /// As [`open_path`](Self::open_path).
    pub fn open(device: impl ReadAt + 'static) -> Result<Self, Error> {
        Ok(lith_reader::Image::open(device)?.into())
    }

    /// Opens the image on several devices, the one with the superblock first, with options.
    ///
    /// # Errors
    /// As [`open_path`](Self::open_path).
    pub fn open_with(
        devices: Vec<Box<dyn ReadAt>>,
        options: lith_reader::Options,
    ) -> Result<Self, Error> {
        Ok(lith_reader::Image::open_with(devices, options)?.into())
    }

    /// Reads the tree in the image: to compare it, to change it, or to build another image from it.
    ///
    /// # Errors
    /// [`Error::Tree`] names the first path that can't be read or is corrupt.
    pub fn source(&self) -> Result<Source, Error> {
        let options = lith_source::Options::default();
        Ok(lith_source::image(Arc::clone(&self.0), Path::new("image"), &options)?)
    }

    /// Extracts all files into `directory`, which is created if it doesn't exist and must be empty.
    /// [`extract`](crate::export::extract()) has options, and an observer.
    ///
    /// # Errors
    /// [`Error::Tree`] and [`Error::Extract`] name the path and the cause.
    pub fn extract_to(&self, directory: impl AsRef<Path>) -> Result<Report, Error> {
        let source = self.source()?;
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let options = ExtractOptions::with(|options| options.workers = cores);
        let all = Selection::all();
        Ok(lith_export::extract(source.filesystem(), &all, directory.as_ref(), &options, &())?)
    }

    /// Examines the image for defects. [`check_devices`](crate::check::check_devices()) examines images that can't be opened,
    /// has options, and an observer.
    ///
    /// # Errors
    /// [`Error::Check`] if the image could not be examined; defects are findings of the report.
    pub fn check(&self) -> Result<lith_check::Report, Error> {
        Ok(lith_check::check(&self.0, &lith_check::Options::default(), &())?)
    }

    /// Mounts the image at `directory` by FUSE. It is served by [`serve`](crate::mount::Mounted::serve), until it is
    /// unmounted.
    ///
    /// # Errors
    /// [`Error::Mount`] has the cause.
    #[cfg(all(feature = "fuse", target_os = "linux"))]
    pub fn mount(
        &self,
        directory: impl AsRef<Path>,
        options: &lith_fuse::Options,
    ) -> Result<lith_fuse::Mounted, Error> {
        let directory = directory.as_ref();
        let failed = |source| Error::Mount { directory: directory.to_owned(), source };
        lith_fuse::Mounted::new(Arc::clone(&self.0), directory, options).map_err(failed)
    }

    /// The reader's image, for functions that keep a share of it.
    #[must_use]
    pub const fn shared(&self) -> &Arc<lith_reader::Image> {
        &self.0
    }
}

impl Deref for Image {
    type Target = lith_reader::Image;

    fn deref(&self) -> &lith_reader::Image {
        &self.0
    }
}

impl From<lith_reader::Image> for Image {
    fn from(image: lith_reader::Image) -> Self {
        Self(Arc::new(image))
    }
}
