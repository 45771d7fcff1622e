//! How does mkfs.erofs make its image, and what does it print?

use std::{io::Write, path::Path, sync::Arc};

use anyhow::Context;
use lith::{
    builder::Report,
    device::FileDevice,
    reader::Image,
    source::{self, Opened, Source},
};
use uuid::Uuid;

use super::request::{From, Request};
use crate::{
    applets::RELEASE,
    output::{self, error::Place, notes::NoteLine},
    run::build,
};

/// Makes the image that a program of this name was asked for.
pub(super) fn run(name: &str, request: &Request) -> anyhow::Result<()> {
    let Request { image, how, is_quiet, .. } = request;
    let (report, notes) = build::make(|| open(request), image, how, !is_quiet)?;
    if *is_quiet {
        return Ok(());
    }
    for note in &notes {
        eprintln!("{name}: {}", NoteLine(note));
    }
    summarise(name, image, &report)
}

/// Opens what the image is made of.
fn open(request: &Request) -> anyhow::Result<Source> {
    match &request.from {
        From::Directory(path) => Ok(source::directory(path, &request.read)?),
        From::Tar(path) => {
            let path = path.as_deref().unwrap_or(Path::new("-"));
            match source::open(path, &request.read)? {
                Opened::Source(source) => Ok(source),
                Opened::Image(_) => anyhow::bail!("{}: not a tar", Place(path)),
            }
        }
        From::Images(paths) => {
            let layers = paths.iter().map(|path| image(path, &request.read));
            Ok(source::merge(layers.collect::<Result<_, _>>()?)?)
        }
    }
}

/// Opens an image as a source.
fn image(path: &Path, options: &source::Options) -> anyhow::Result<Source> {
    let file = FileDevice::open(path).with_context(|| format!("{}: cannot open", Place(path)))?;
    let image = Image::open(file).with_context(|| Place(path).to_string())?;
    source::image(Arc::new(image), path, options).with_context(|| Place(path).to_string())
}

/// Prints what erofs-utils print of a finished image.
fn summarise(name: &str, image: &Path, report: &Report) -> anyhow::Result<()> {
    let place = || Place(image).to_string();
    let finished = Image::open(FileDevice::open(image)?).with_context(place)?;
    let superblock = finished.superblock();
    let (blocks, block) = (superblock.blocks, superblock.block.size());
    let data = report.data_bytes / u64::from(block);
    let mut output = output::stdout()?;
    writeln!(output, "{name} {RELEASE}\nBuild completed.\n------")?;
    writeln!(output, "Filesystem UUID: {}", Uuid::from_bytes(superblock.uuid))?;
    writeln!(output, "Filesystem total blocks: {blocks} (of {block}-byte blocks)")?;
    writeln!(output, "Filesystem total inodes: {}", superblock.inos)?;
    writeln!(output, "Filesystem total metadata blocks: {}", blocks.saturating_sub(data))?;
    output.flush()?;
    Ok(())
}
