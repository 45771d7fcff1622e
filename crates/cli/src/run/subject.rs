//! Opens images and finds files in them, with paths in errors.

use std::{iter, path::Path};

use anyhow::Context;
use lith::{
    bases,
    device::{OffsetDevice, ReadAt},
    format::{addr::Nid, file_type::FileType},
    reader::{DirEntry, Error, File, Image, Inode},
    tree::DisplayPath,
};

use super::{
    device, remote,
    salvage::reader_options,
    verified,
    volume::{Bytes, Entries, Entry, Volume},
};
use crate::{
    args::{common::ImageArgs, location::Location},
    output::{error::Place, file::Attributes},
};

/// An open image and its path, which errors name.
pub(crate) struct Subject<'a> {
    pub(crate) image: Image,
    pub(super) path: &'a Path,
}

impl<'a> Subject<'a> {
    pub(crate) fn open(args: &'a ImageArgs) -> anyhow::Result<Self> {
        let path = args.image.as_path();
        let devices = devices(args)?;
        let image = Image::open_with(devices, reader_options(args.ignore_checksum));
        let image = image.with_context(|| Place(path).to_string())?;
        Ok(Self { image, path })
    }

    pub(crate) const fn new(image: Image, path: &'a Path) -> Self {
        Self { image, path }
    }

    fn find_in(&self, parent: &[u8], name: &[u8], path: &[u8]) -> Result<Inode, Error> {
        let directory = self.image.resolve_following(parent)?;
        let entry = self.image.lookup(&directory, name)?;
        let entry = entry.ok_or_else(|| Error::NotFound { path: path.to_vec() })?;
        self.image.inode(entry.nid)
    }

    /// Adds the image's path and a path in the image to an error.
    pub(crate) fn about(&self, path: &[u8], error: Error) -> anyhow::Error {
        let place = Place(self.path);
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

    /// Adds the image's path to an error.
    pub(crate) fn failed(
        &self,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> anyhow::Error {
        anyhow::Error::new(error).context(Place(self.path).to_string())
    }
}

impl Volume for Subject<'_> {
    type Id = Nid;
    type Node = Inode;

    fn find(&self, path: &[u8], follow: bool) -> anyhow::Result<Inode> {
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

    fn node(&self, path: &[u8], id: Nid) -> anyhow::Result<Inode> {
        self.image.inode(id).map_err(|error| self.about(path, error))
    }

    fn id(&self, node: &Inode) -> Nid {
        node.nid
    }

    fn attributes(&self, node: &Inode) -> Attributes {
        node.into()
    }

    fn entries(&self, path: &[u8], directory: &Inode) -> anyhow::Result<Entries<'_, Nid>> {
        let entries = self.image.read_dir(directory).map_err(|error| self.about(path, error))?;
        let path = path.to_vec();
        Ok(Box::new(entries.map(move |entry| {
            let DirEntry { name, nid, file_type } =
                entry.map_err(|error| self.about(&path, error))?;
            Ok(Entry { name, file_type, id: nid })
        })))
    }

    fn target(&self, path: &[u8], node: &Inode) -> anyhow::Result<Option<Vec<u8>>> {
        let is_link = node.file_type == FileType::Symlink;
        let target = is_link.then(|| self.image.read_link(node)).transpose();
        target.map_err(|error| self.about(path, error))
    }

    fn content(&self, node: &Inode) -> anyhow::Result<Box<dyn Bytes + '_>> {
        Ok(Box::new(self.image.file(node)?))
    }

    fn refuse(&self, path: &[u8], problem: &str) -> anyhow::Error {
        anyhow::anyhow!("{}: {}: {problem}", Place(self.path), DisplayPath(path))
    }

    fn at(&self, path: &[u8], error: anyhow::Error) -> anyhow::Error {
        error.context(format!("{}: {}", Place(self.path), DisplayPath(path)))
    }
}

impl Bytes for File<'_> {
    fn size(&self) -> u64 {
        File::size(self)
    }

    fn read_at(&self, buf: &mut [u8], position: u64) -> anyhow::Result<()> {
        Ok(File::read_at(self, buf, position)?)
    }
}

/// The primary device and the further ones. A primary one that is known to be something else than an image is refused.
pub(crate) fn devices(args: &ImageArgs) -> anyhow::Result<Vec<Box<dyn ReadAt>>> {
    open_all(&args.location())
}

/// The devices of an image: that of its file, and the further ones.
pub(crate) fn open_all(location: &Location<'_>) -> anyhow::Result<Vec<Box<dyn ReadAt>>> {
    let Some(trust) = &location.trust else {
        let primary = primary(location)?;
        return with_further(primary, location);
    };
    let primary = verified::open(location, trust)?;
    device::refuse_other(location.path, &device::start(location.path, &primary)?)?;
    let further = verified::bases(&primary, location)?;
    Ok(iter::once(Box::new(primary) as Box<dyn ReadAt>).chain(further).collect())
}

/// A primary device, and the further ones. Those of standard input are not looked for.
pub(crate) fn with_further(
    primary: Box<dyn ReadAt>,
    location: &Location<'_>,
) -> anyhow::Result<Vec<Box<dyn ReadAt>>> {
    let Location { path, search, .. } = location;
    if search.devices.is_empty()
        && let Some(further) = remote::further(path)?
    {
        return Ok(iter::once(primary).chain(further).collect());
    }
    if *path == Path::new("-") {
        let further = search.devices.iter().map(|path| device::open(path));
        return iter::once(Ok(primary)).chain(further).collect();
    }
    let further = bases::find_for(&*primary, path, search)?;
    let further = further.into_iter().map(|found| Box::new(found.device) as Box<dyn ReadAt>);
    Ok(iter::once(primary).chain(further).collect())
}

/// The primary device, which is refused if it is known to be something else than an image.
pub(crate) fn primary(location: &Location<'_>) -> anyhow::Result<Box<dyn ReadAt>> {
    let (device, start) = device_and_start(location)?;
    device::refuse_other(location.path, &start)?;
    Ok(device)
}

/// The primary device with its first bytes, by which its type is detected.
pub(super) fn device_and_start(
    location: &Location<'_>,
) -> anyhow::Result<(Box<dyn ReadAt>, Vec<u8>)> {
    let path = location.path;
    let device = device::open_keeping(path, &location.keep)?;
    let device: Box<dyn ReadAt> = match location.offset {
        0 => device,
        offset => Box::new(OffsetDevice::new(device, offset)),
    };
    let start = device::start(path, &*device)?;
    Ok((device, start))
}

/// A path without trailing slashes.
fn trim_slashes(path: &[u8]) -> &[u8] {
    let kept = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    path.split_at(kept).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_slashes_are_trimmed() {
        assert_eq!(trim_slashes(b"/a//"), b"/a");
        assert_eq!(trim_slashes(b"//"), b"");
    }
}
