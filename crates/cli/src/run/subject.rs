//! Which image is read, and what does a path in it lead to?

use std::path::Path;

use anyhow::Context;
use lith::{
    device::{FileDevice, ReadAt},
    reader::{Error, Image, Inode, Options},
    tree::DisplayPath,
};

use crate::{args::image::ImageArgs, output::error::Place};

/// An open image that knows where it lies, to say so in errors.
pub(crate) struct Subject<'a> {
    pub(crate) image: Image,
    place: &'a Path,
}

impl<'a> Subject<'a> {
    /// Opens the image that the arguments name.
    pub(crate) fn open(args: &'a ImageArgs) -> anyhow::Result<Self> {
        let place = args.image.as_path();
        let devices = devices(args)?;
        let image = Image::open_with(devices, Options::default());
        let image = image.with_context(|| Place(place).to_string())?;
        Ok(Self { image, place })
    }

    /// An image that is open already.
    pub(crate) const fn new(image: Image, place: &'a Path) -> Self {
        Self { image, place }
    }

    /// What a path from the root leads to. Symbolic links on the way are followed, one at its end if `follow`
    /// says so or a slash comes behind it.
    pub(crate) fn find(&self, path: &[u8], follow: bool) -> anyhow::Result<Inode> {
        let trimmed = trim_slashes(path);
        let (parent, name) = match trimmed.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => trimmed.split_at(slash + 1),
            None => (&b""[..], trimmed),
        };
        let ends_in_directory = path.ends_with(b"/") || matches!(name, b"" | b"." | b"..");
        let found = if follow || ends_in_directory {
            self.image.resolve_following(path)
        } else {
            self.find_in(parent, name, path)
        };
        found.map_err(|error| self.about(path, error))
    }

    fn find_in(&self, parent: &[u8], name: &[u8], path: &[u8]) -> Result<Inode, Error> {
        let directory = self.image.resolve_following(parent)?;
        let entry = self.image.lookup(&directory, name)?;
        let entry = entry.ok_or_else(|| Error::NotFound { path: path.to_vec() })?;
        self.image.inode(entry.nid)
    }

    /// An error at a path of the image.
    pub(crate) fn about(&self, path: &[u8], error: Error) -> anyhow::Error {
        let place = Place(self.place);
        let at = match &error {
            Error::NotFound { path } => {
                return anyhow::anyhow!("{place}: {} does not exist", DisplayPath(path));
            }
            Error::NotADirectory { .. } => {
                return anyhow::anyhow!("{place}: {}: not a directory", DisplayPath(path));
            }
            _ => format!("{place}: {}", DisplayPath(path)),
        };
        anyhow::Error::new(error).context(at)
    }

    /// An error at a path, that the reader knows nothing of.
    pub(crate) fn refuse(&self, path: &[u8], problem: &str) -> anyhow::Error {
        anyhow::anyhow!("{}: {}: {problem}", Place(self.place), DisplayPath(path))
    }

    /// An error without a path of the image.
    pub(crate) fn failed(
        &self,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> anyhow::Error {
        anyhow::Error::new(error).context(Place(self.place).to_string())
    }
}

/// The image's file, and further ones.
pub(crate) fn devices(args: &ImageArgs) -> anyhow::Result<Vec<Box<dyn ReadAt>>> {
    let paths = std::iter::once(&args.image).chain(&args.devices);
    paths.map(|path| device(path)).collect()
}

/// A file or block device to read from.
pub(crate) fn device(path: &Path) -> anyhow::Result<Box<dyn ReadAt>> {
    let device = FileDevice::open(path);
    Ok(Box::new(device.with_context(|| format!("{}: cannot open", Place(path)))?))
}

/// A path without slashes at its end.
fn trim_slashes(path: &[u8]) -> &[u8] {
    let kept = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    path.split_at(kept).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_at_the_end_are_trimmed() {
        assert_eq!(trim_slashes(b"/a//"), b"/a");
        assert_eq!(trim_slashes(b"//"), b"");
    }
}
