//! Opens directories, tars and images as trees.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use lith::{
    bases::Search,
    device::FileDevice,
    export::Selection,
    reader::{self, Image},
    source::{self, OnError, Opened, Options, Source},
};

use super::{
    salvage::reader_options,
    subject::{self, Subject},
};
use crate::{args::common::ImageArgs, output::error::Place};

/// Opens the directory, tar or image at a path; only an image can have further devices.
pub(crate) fn open(path: &Path, search: &Search, options: &Options) -> anyhow::Result<Source> {
    open_within((path, 0), search, options)
}

/// As [`open`]; only an image can start within a file.
pub(crate) fn open_at(args: &ImageArgs, options: &Options) -> anyhow::Result<Source> {
    let reader = reader_options(args.ignore_checksum);
    open_with((&args.image, args.offset.0), &args.devices.search(), options, reader)
}

/// The same at an offset.
pub(crate) fn open_within(
    (path, offset): (&Path, u64),
    search: &Search,
    options: &Options,
) -> anyhow::Result<Source> {
    open_with((path, offset), search, options, reader::Options::default())
}

fn open_with(
    (path, offset): (&Path, u64),
    search: &Search,
    options: &Options,
    reader: reader::Options,
) -> anyhow::Result<Source> {
    let place = || Place(path).to_string();
    let primary = match offset {
        0 => match source::open(path, options)? {
            Opened::Source(_) if !search.devices.is_empty() => {
                anyhow::bail!("{}: only an image can have further devices", place())
            }
            Opened::Source(source) => return Ok(source),
            Opened::Image(file) => {
                let device = FileDevice::new(file);
                Box::new(device.with_context(|| format!("{}: cannot read", place()))?)
            }
        },
        offset => subject::primary(path, offset)?,
    };
    let devices = subject::with_further(primary, (path, offset), search)?;
    let image = Image::open_with(devices, reader).with_context(place)?;
    source::image(Arc::new(image), path, options).with_context(place)
}

/// The tree of an open image, whose path errors name.
pub(crate) fn of_image(subject: Subject<'_>, on_error: OnError) -> anyhow::Result<Source> {
    let Subject { image, path } = subject;
    let options = Options::with(|options| options.on_error = on_error);
    let source = source::image(Arc::new(image), path, &options);
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
