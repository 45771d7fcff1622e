//! Defines the image and file arguments that fsck.erofs and dump.erofs have in common.

use std::{ffi::OsString, io, path::PathBuf};

use anyhow::Context;
use clap::Args;
use lith::{
    device::{DeviceError, OffsetDevice, ReadAt},
    format::addr::Nid,
    reader::{Error, Image, Inode, Options},
};

use crate::{args::c_number::number, output::error::Place, run::device};

/// An image, its further devices, and its start within the file.
#[derive(Args, Debug)]
pub(super) struct ImageArguments {
    /// The image
    #[arg(value_name = "IMAGE")]
    pub(super) image: PathBuf,

    /// A further device of a multi-device image, in the order of its device table
    #[arg(long = "device", value_name = "FILE")]
    devices: Vec<PathBuf>,

    /// Byte offset of the image within its file
    #[arg(long, value_name = "BYTES", value_parser = number, default_value = "0")]
    offset: u64,
}

/// A file of the image.
#[derive(Args, Debug)]
pub(super) struct FileArguments {
    /// The file with this NID
    #[arg(long, value_name = "NID", value_parser = number)]
    pub(super) nid: Option<u64>,

    /// The file at this path; symbolic links are not followed
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    pub(super) path: Option<OsString>,
}

impl ImageArguments {
    /// The image's devices, the primary one first.
    pub(super) fn devices(&self) -> anyhow::Result<Vec<Box<dyn ReadAt>>> {
        let mut primary = device::open(&self.image)?;
        if self.offset > 0 {
            primary = Box::new(OffsetDevice::new(primary, self.offset));
        }
        let mut devices = vec![primary];
        for path in &self.devices {
            devices.push(device::open(path)?);
        }
        Ok(devices)
    }

    pub(super) fn open(&self, any_checksum: bool) -> anyhow::Result<Image> {
        self.open_on(self.devices()?, any_checksum)
    }

    /// As [`Self::devices`]; if no further devices are given, adds unreadable ones of the sizes in the device table.
    ///
    /// That suffices for work on metadata, all of which is stored on the primary device.
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

    /// Opens the image for work on metadata: further devices may be missing, and extents name the device that their
    /// inode names.
    pub(super) fn open_structure(&self, any_checksum: bool) -> anyhow::Result<Image> {
        self.open_on(self.devices_of_structure()?, any_checksum)
    }

    fn open_on(&self, devices: Vec<Box<dyn ReadAt>>, any_checksum: bool) -> anyhow::Result<Image> {
        let mut options = Options::default();
        options.any_checksum = any_checksum;
        Image::open_with(devices, options).with_context(|| Place(&self.image).to_string())
    }

    /// Adds the image's path to an error.
    pub(super) fn about(&self, error: Error) -> anyhow::Error {
        anyhow::Error::new(error).context(Place(&self.image).to_string())
    }
}

/// A device whose size in bytes is known, but which can't be read.
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

impl FileArguments {
    pub(super) const fn is_given(&self) -> bool {
        self.nid.is_some() || self.path.is_some()
    }

    /// The file's inode; that of the root if none is given.
    pub(super) fn find(&self, arguments: &ImageArguments, image: &Image) -> anyhow::Result<Inode> {
        let found = match (&self.path, self.nid) {
            (Some(path), _) => image.resolve(path.as_encoded_bytes()),
            (None, Some(nid)) => image.inode(Nid(nid)),
            (None, None) => image.root(),
        };
        found.map_err(|error| arguments.about(error))
    }
}
