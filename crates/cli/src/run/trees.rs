//! Opens directories, tars and images as trees.

use std::{
    iter,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use lith::{
    device::FileDevice,
    export::Selection,
    reader::{self, Image},
    source::{self, Opened, Options, Source},
};

use super::subject::{self, Subject};
use crate::{
    args::{common::ImageArgs, value::Size},
    output::error::Place,
};

/// Opens the directory, tar or image at a path; only an image can have further devices.
pub(crate) fn open(path: &Path, devices: &[PathBuf], options: &Options) -> anyhow::Result<Source> {
    let args = ImageArgs { devices: devices.to_vec(), ..ImageArgs::new(path.to_owned()) };
    open_at(&args, options)
}

/// As [`open`]; only an image can start within a file.
pub(crate) fn open_at(args: &ImageArgs, options: &Options) -> anyhow::Result<Source> {
    let path = args.image.as_path();
    let place = || Place(path).to_string();
    let primary = match args.offset {
        Size(0) => match source::open(path, options)? {
            Opened::Source(_) if !args.devices.is_empty() => {
                anyhow::bail!("{}: only an image can have further devices", place())
            }
            Opened::Source(source) => return Ok(source),
            Opened::Image(file) => {
                let device = FileDevice::new(file);
                Box::new(device.with_context(|| format!("{}: cannot read", place()))?)
            }
        },
        Size(offset) => subject::primary(path, offset)?,
    };
    let further = args.devices.iter().map(|device| subject::device(device));
    let devices = iter::once(Ok(primary)).chain(further);
    let devices = devices.collect::<anyhow::Result<Vec<_>>>()?;
    let image = Image::open_with(devices, reader::Options::default()).with_context(place)?;
    source::image(Arc::new(image), path, options).with_context(place)
}

/// The tree of an open image, whose path errors name.
pub(crate) fn of_image(subject: Subject<'_>) -> anyhow::Result<Source> {
    let Subject { image, path } = subject;
    let source = source::image(Arc::new(image), path, &Options::default());
    source.with_context(|| Place(path).to_string())
}

/// The given paths of an image's tree, or all of it if none are given.
pub(crate) fn select(
    source: &Source,
    image: &Path,
    paths: &[Vec<u8>],
) -> anyhow::Result<Selection> {
    if paths.is_empty() {
        return Ok(Selection::all());
    }
    let selection = Selection::paths(&source.tree, paths.iter().map(Vec::as_slice));
    selection.with_context(|| Place(image).to_string())
}

/// Options for a source that is only read: all files and attributes, temporary data in the system's directory.
pub(crate) fn everything() -> Options {
    Options::with(|options| options.spool_dir = std::env::temp_dir())
}
