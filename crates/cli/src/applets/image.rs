//! Which image do fsck.erofs and dump.erofs look at?

use std::{io, path::PathBuf};

use anyhow::Context;
use clap::Args;
use lith::{
    device::{DeviceError, OffsetDevice, ReadAt},
    reader::{Image, Inode, Options},
};

use crate::{args::c_number as number, output::error::Place, run::subject};

/// An image, and where in a file it is.
#[derive(Args, Debug)]
pub(super) struct ImageWords {
    /// The image
    #[arg(value_name = "IMAGE")]
    pub(super) image: PathBuf,

    /// A further device of an image that lies on several, in the order of its device table
    #[arg(long = "device", value_name = "FILE")]
    devices: Vec<PathBuf>,

    /// Bytes before the image in its file
    #[arg(long, value_name = "BYTES", value_parser = number::number, default_value = "0")]
    offset: u64,
}

/// A file of the image.
#[derive(Args, Debug)]
pub(super) struct FileWords {
    /// The file of this NID
    #[arg(long, value_name = "NID", value_parser = number::number)]
    pub(super) nid: Option<u64>,

    /// The file at this path; symbolic links are not followed
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    pub(super) path: Option<std::ffi::OsString>,
}

impl ImageWords {
    /// The devices that it lies on.
    pub(super) fn devices(&self) -> anyhow::Result<Vec<Box<dyn ReadAt>>> {
        let mut primary = subject::device(&self.image)?;
        if self.offset > 0 {
            primary = Box::new(OffsetDevice::new(primary, self.offset));
        }
        let mut devices = vec![primary];
        for path in &self.devices {
            devices.push(subject::device(path)?);
        }
        Ok(devices)
    }

    /// Opens the image.
    pub(super) fn open(&self, any_checksum: bool) -> anyhow::Result<Image> {
        self.open_on(self.devices()?, any_checksum)
    }

    /// As [`Self::devices`], but further devices that are not given are there without their bytes: for what looks at
    /// the structure of an image only.
    pub(super) fn devices_of_structure(&self) -> anyhow::Result<Vec<Box<dyn ReadAt>>> {
        let mut devices = self.devices()?;
        if self.devices.is_empty()
            && let Ok(image) = self.open(true)
        {
            let map = image.device_map();
            let size = |blocks: u64| blocks.saturating_mul(map.block.size().into());
            let absent = map.slots.iter().map(|slot| AbsentDevice(size(slot.blocks)));
            devices.extend(absent.map(|device| Box::new(device) as Box<dyn ReadAt>));
        }
        Ok(devices)
    }

    /// Opens the image so that its extents are told by the devices that its inodes name, though these may not be at
    /// hand.
    pub(super) fn open_structure(&self, any_checksum: bool) -> anyhow::Result<Image> {
        self.open_on(self.devices_of_structure()?, any_checksum)
    }

    fn open_on(&self, devices: Vec<Box<dyn ReadAt>>, any_checksum: bool) -> anyhow::Result<Image> {
        let mut options = Options::default();
        options.any_checksum = any_checksum;
        Image::open_with(devices, options).with_context(|| Place(&self.image).to_string())
    }

    /// An error about the image.
    pub(super) fn about(&self, error: lith::reader::Error) -> anyhow::Error {
        anyhow::Error::new(error).context(Place(&self.image).to_string())
    }
}

/// A device of this size whose bytes can't be had.
struct AbsentDevice(u64);

impl ReadAt for AbsentDevice {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let source = io::Error::new(io::ErrorKind::NotFound, "the device is not given");
        Err(DeviceError::Io { position, length: buf.len() as u64, source })
    }

    fn size(&self) -> u64 {
        self.0
    }
}

impl FileWords {
    /// Whether a file is named.
    pub(super) const fn is_given(&self) -> bool {
        self.nid.is_some() || self.path.is_some()
    }

    /// The file; the root if none is named.
    pub(super) fn find(&self, words: &ImageWords, image: &Image) -> anyhow::Result<Inode> {
        let found = match (&self.path, self.nid) {
            (Some(path), _) => image.resolve(path.as_encoded_bytes()),
            (None, Some(nid)) => image.inode(lith::format::addr::Nid(nid)),
            (None, None) => image.root(),
        };
        found.map_err(|error| words.about(error))
    }
}
