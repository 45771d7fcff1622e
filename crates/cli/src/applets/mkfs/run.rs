//! Builds the image of mkfs.erofs, and prints what erofs-utils print.

use std::{
    io::{BufWriter, Write},
    path::Path,
    sync::Arc,
};

use anyhow::Context;
use lith::{
    Built,
    builder::Report,
    device::{FileDevice, OffsetDevice},
    reader::Image,
    source::{self, Data, Opened, Source},
};
use uuid::Uuid;

use super::{
    android::{create, finish},
    request::{From, Request},
};
use crate::{
    applets::program::RELEASE,
    exit::Outcome,
    output::{
        self,
        error::{Place, tell},
        notes::NoteLine,
    },
    run::build,
};

/// Builds the requested image; the program is called `name`.
pub(super) fn run(name: &str, request: &Request) -> anyhow::Result<Outcome> {
    let Request { image, is_quiet, .. } = request;
    let open = || Ok(request.builder(open(request)?));
    let Built { report, notes, .. } = build::make(open, image, !is_quiet)?;
    let finished = reopen(request)?;
    request.android.write_block_list(&finished)?;
    write_source_map(request, &finished)?;
    write_vmdk(request, &finished)?;
    if *is_quiet {
        return Ok(Outcome::Success);
    }
    if request.leaves_directories {
        tell(format_args!(
            "{name}: --zD compresses directories only with -m and -E fragments; they are stored uncompressed"
        ));
    }
    for note in &notes {
        tell(format_args!("{name}: {}", NoteLine(note)));
    }
    summarise(name, &finished, &report)?;
    Ok(Outcome::Success)
}

/// Opens the source and changes it as requested.
fn open(request: &Request) -> anyhow::Result<Source> {
    let Request { from, read, .. } = request;
    let mut source = match from {
        From::Directory(path) => source::directory(path, read)?,
        From::Tar(path) => tar(path.as_deref(), read)?,
        From::Images(paths) => {
            let layers = paths.iter().map(|path| image(path, 0, read));
            source::merge(layers.collect::<Result<_, _>>()?)?
        }
    };
    request.android.apply(&mut source)?;
    if request.is_incremental {
        let all = source::Options::with(|options| options.data = Data::Take);
        let base = image(&request.image, request.offset, &all)?;
        source = source::merge(vec![base, source])?;
    }
    Ok(source)
}

fn tar(path: Option<&Path>, read: &source::Options) -> anyhow::Result<Source> {
    let path = path.unwrap_or(Path::new("-"));
    match source::open(path, read)? {
        Opened::Source(source) if !path.is_dir() => Ok(source),
        _ => anyhow::bail!("{}: not a tar", Place(path)),
    }
}

/// Opens an image that starts at byte `offset` of a file as a source.
fn image(path: &Path, offset: u64, options: &source::Options) -> anyhow::Result<Source> {
    let file = FileDevice::open(path).with_context(|| format!("{}: cannot open", Place(path)))?;
    let image = Image::open(OffsetDevice::new(file, offset));
    let image = image.with_context(|| Place(path).to_string())?;
    source::image(Arc::new(image), path, options).with_context(|| Place(path).to_string())
}

/// Opens the finished image without its devices: only metadata is read.
fn reopen(request: &Request) -> anyhow::Result<Image> {
    let place = || Place(&request.image).to_string();
    let file = FileDevice::open(&request.image).with_context(place)?;
    Image::open(OffsetDevice::new(file, request.offset)).with_context(place)
}

/// Writes the map from blocks of the image to bytes of the tar, if requested.
fn write_source_map(request: &Request, image: &Image) -> anyhow::Result<()> {
    let (Some(path), From::Tar(tar_path)) = (&request.source_map, &request.from) else {
        return Ok(());
    };
    let mut read = request.read.clone();
    (read.raw_copy, read.data) = (None, Data::Refer);
    let source = tar(tar_path.as_deref(), &read)?;
    let mut file = BufWriter::new(create(path)?);
    lith::export::source_map(image, source.filesystem(), &mut file)?;
    finish(path, file)
}

/// Writes the VMDK descriptor that joins image and devices, if requested.
fn write_vmdk(request: &Request, image: &Image) -> anyhow::Result<()> {
    let Some(path) = &request.vmdk else { return Ok(()) };
    let mut file = BufWriter::new(create(path)?);
    let written =
        lith::export::vmdk_descriptor(image, &request.image, &request.devices(), &mut file);
    written.with_context(|| format!("{}: cannot write", Place(path)))?;
    finish(path, file)
}

/// Prints what erofs-utils print of a finished image.
fn summarise(name: &str, image: &Image, report: &Report) -> anyhow::Result<()> {
    let superblock = image.superblock();
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
