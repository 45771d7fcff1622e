//! Opens directories, archives and images of both kinds as trees.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use lith::{
    bases::Search,
    composefs,
    device::{FileDevice, ReadAt},
    export::Selection,
    reader::{self, Image},
    source::{self, OnError, Options, Source},
    verity::AheadDevice,
};

use super::{
    device, paths, remote,
    salvage::reader_options,
    subject::{self, Subject},
    tree::TreeSubject,
    volume::Volume,
};
use crate::{
    args::{
        common::{ImageArgs, ObjectsArgs},
        location::Location,
        paths::PathArgs,
    },
    output::{address::is_address, error::Place},
};

/// Opens the directory, archive or image at a path; only an image can have further devices.
pub(crate) fn open(path: &Path, search: &Search, options: &Options) -> anyhow::Result<Source> {
    open_with(&Location::new(path, search.clone()), options, reader::Options::default())
}

/// As [`open`]; only an image can start within a file.
pub(crate) fn open_at(args: &ImageArgs, options: &Options) -> anyhow::Result<Source> {
    let reader = reader_options(args.ignore_checksum);
    open_with(&args.location(), options, reader)
}

/// As [`open`], of what may be elsewhere than at the start of its file, or is verified; with options for images.
pub(crate) fn open_with(
    location: &Location<'_>,
    options: &Options,
    reader: reader::Options,
) -> anyhow::Result<Source> {
    let Location { path, offset, search, trust, .. } = location;
    let mut options = options.clone();
    remote::change(&location.keep)?(&mut options);
    let options = &options;
    if *offset == 0 && trust.is_none() && !is_address(path) {
        let opened = lith::open(path, search, options, reader)?;
        if matches!(opened, lith::Opened::Tree(_)) && !search.devices.is_empty() {
            anyhow::bail!("{}: only an image can have further devices", Place(path));
        }
        return Ok(opened.into_source(path, options)?);
    }
    let devices = if trust.is_some() {
        subject::open_all(location)?
    } else {
        let opened = subject::device_and_start(location);
        let is_stream = match &opened {
            Ok((_, start)) => source::is_archive(start),
            Err(error) => remote::sends_all(error),
        };
        if *offset == 0 && is_stream {
            return Ok(lith::open(path, search, options, reader)?.into_source(path, options)?);
        }
        let (device, start) = opened?;
        if source::is_squashfs(&start) {
            return Ok(source::squashfs(device, path, options)?);
        }
        device::refuse_other(path, &start)?;
        subject::with_further(device, location)?
    };
    let place = || Place(path).to_string();
    let image = Image::open_with(devices, reader).with_context(place)?;
    source::image(Arc::new(image), path, options).with_context(place)
}

/// An image, or the tree of a file of another kind.
pub(crate) enum Opened<'a> {
    Image(Box<Subject<'a>>),
    Tree(TreeSubject<'a>),
}

/// When blocks are compared with a hash tree, if there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verify {
    /// By a thread of their own, before they are needed: for verbs that read on one thread.
    Ahead,
    /// By the thread that reads them.
    WhenRead,
}

/// Opens the image, archive or SquashFS image that the arguments name.
pub(crate) fn open_any<'a>(
    args: &'a ImageArgs,
    objects: &ObjectsArgs,
    (verify, on_error): (Verify, OnError),
) -> anyhow::Result<Opened<'a>> {
    let opened = open_alone(args, (verify, on_error))?;
    let Some(objects) = &objects.objects else { return Ok(opened) };
    let path = args.image.as_path();
    let source = match opened {
        Opened::Image(subject) => of_image(*subject, on_error)?,
        Opened::Tree(_) => anyhow::bail!("{}: only an EROFS image has objects", Place(path)),
    };
    Ok(Opened::Tree(TreeSubject { source: composefs::unpack(source, objects), path }))
}

/// The same without further objects.
fn open_alone(
    args: &ImageArgs,
    (verify, on_error): (Verify, OnError),
) -> anyhow::Result<Opened<'_>> {
    let location = args.location();
    let Location { path, offset, ref search, .. } = location;
    let as_image = |devices| {
        let image = Image::open_with(devices, reader_options(args.ignore_checksum));
        let image = image.with_context(|| Place(path).to_string())?;
        anyhow::Ok(Opened::Image(Box::new(Subject::new(image, path))))
    };
    if location.trust.is_some() {
        let mut devices = subject::open_all(&location)?;
        if verify == Verify::Ahead {
            let ahead = |device| -> Box<dyn ReadAt> { Box::new(AheadDevice::new(device)) };
            devices = devices.into_iter().map(ahead).collect();
        }
        return as_image(devices);
    }
    let mut options = everything();
    options.on_error = on_error;
    if source::is_container(path) {
        return Ok(Opened::Tree(TreeSubject { source: open(path, search, &options)?, path }));
    }
    let opened =
        if device::is_pipe(path) { None } else { Some(subject::device_and_start(&location)) };
    let is_stream =
        opened.as_ref().is_none_or(|opened| opened.as_ref().is_err_and(remote::sends_all));
    if offset == 0 && is_stream {
        // What is streamed is not copied as a whole.
        remote::change(&location.keep)?(&mut options);
        let source = match source::open(path, &options)? {
            source::Opened::Source(source) => source,
            source::Opened::Image(file) => {
                let device = FileDevice::new(file).with_context(|| Place(path).to_string())?;
                return as_image(subject::with_further(Box::new(device), &location)?);
            }
            source::Opened::Arriving(device) => {
                return as_image(subject::with_further(Box::new(device), &location)?);
            }
            #[cfg(feature = "remote")]
            source::Opened::RemoteImage(device) => {
                return as_image(subject::with_further(Box::new(device), &location)?);
            }
        };
        return Ok(Opened::Tree(TreeSubject { source, path }));
    }
    let (device, start) = opened.unwrap_or_else(|| subject::device_and_start(&location))?;
    let source = if source::is_squashfs(&start) {
        source::squashfs(device, path, &options)?
    } else if offset == 0 && source::is_archive(&start) {
        open(path, search, &options)?
    } else {
        device::refuse_other(path, &start)?;
        return as_image(subject::with_further(device, &location)?);
    };
    if !search.devices.is_empty() {
        anyhow::bail!("{}: only an image can have further devices", Place(path));
    }
    Ok(Opened::Tree(TreeSubject { source, path }))
}

impl Opened<'_> {
    /// The requested paths, and the tree that they are in.
    pub(crate) fn select(
        self,
        request: &PathArgs,
        on_error: OnError,
    ) -> anyhow::Result<(Vec<Vec<u8>>, Source)> {
        Ok(match self {
            Self::Image(subject) => {
                let paths = paths::requested(&*subject, request, |_any| true)?;
                (paths, of_image(*subject, on_error)?)
            }
            Self::Tree(subject) => {
                let paths = paths::requested(&subject, request, |_any| true)?;
                (paths, subject.source)
            }
        })
    }

    /// Whether there is a file at a path.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        match self {
            Self::Image(subject) => subject.find(path, false).is_ok(),
            Self::Tree(subject) => subject.find(path, false).is_ok(),
        }
    }
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
