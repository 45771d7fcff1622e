//! Opens directories, tars and images as trees.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use lith::{
    device::{FileDevice, ReadAt},
    export::Selection,
    reader::{self, Image},
    source::{self, Opened, Options, Source},
};

use super::subject::{self, Subject};
use crate::{args::common::ImageArgs, output::error::Place};

/// Opens the directory, tar or image at a path; only an image can have further devices.
pub(crate) fn open(path: &Path, devices: &[PathBuf], options: &Options) -> anyhow::Result<Source> {
    let place = || Place(path).to_string();
    match source::open(path, options)? {
        Opened::Source(_) if !devices.is_empty() => {
            anyhow::bail!("{}: only an image can have further devices", place())
        }
        Opened::Source(source) => Ok(source),
        Opened::Image(file) => {
            let primary =
                FileDevice::new(file).with_context(|| format!("{}: cannot read", place()))?;
            let mut all: Vec<Box<dyn ReadAt>> = vec![Box::new(primary)];
            for device in devices {
                all.push(subject::device(device)?);
            }
            let image = Image::open_with(all, reader::Options::default()).with_context(place)?;
            source::image(Arc::new(image), path, options).with_context(place)
        }
    }
}

pub(crate) fn of_image(args: &ImageArgs) -> anyhow::Result<Source> {
    let path = args.image.as_path();
    let image = Arc::new(Subject::open(args)?.image);
    source::image(image, path, &Options::default()).with_context(|| Place(path).to_string())
}

/// The given paths of an image's tree, or all of it.
pub(crate) fn select(
    source: &Source,
    args: &ImageArgs,
    paths: &[OsString],
) -> anyhow::Result<Selection> {
    if paths.is_empty() {
        return Ok(Selection::all());
    }
    let paths = paths.iter().map(|path| path.as_encoded_bytes());
    let selection = Selection::paths(&source.tree, paths);
    selection.with_context(|| Place(&args.image).to_string())
}

/// Options for a source that is only read: all files and attributes, temporary data in the system's directory.
pub(crate) fn everything() -> Options {
    Options::with(|options| options.spool_dir = std::env::temp_dir())
}
