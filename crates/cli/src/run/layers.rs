//! Makes an image of each layer of a container image, and one that refers to them (`lith build --layers`).

use std::{fs::DirBuilder, io::Write, path::Path, time::Instant};

use anyhow::Context;
use lith::{
    Adjust, Builder, Built, Overlay,
    bases::Search,
    source::{self, Options, Source},
};

use super::{build, merge, remote};
use crate::{
    args::{
        MessageArgs,
        build::{Build, From},
        remote::Keep,
    },
    exit::Outcome,
    output::{
        self,
        error::{Place, tell},
        notes::NoteLine,
    },
};

/// The name of the image that refers to the others.
const MERGED: &str = "merged.erofs";

pub(crate) fn run(request: &Build, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let folder = &request.image;
    DirBuilder::new().recursive(true).create(folder).with_context(|| Place(folder).to_string())?;
    let is_shown = !messages.quiet;
    let mut output = output::stdout()?;
    if is_shown {
        for note in &request.kernel.notes {
            tell(format_args!("lith: {note}"));
        }
    }
    let mut paths = Vec::new();
    for (layer, number) in read(request)?.into_iter().zip(1..) {
        let path = folder.join(format!("layer{number}.erofs"));
        let builder = request.with(Builder::source(layer));
        make(builder, &path, is_shown.then_some(&mut output))?;
        paths.push(path);
    }
    let adjust = Adjust { overlay: Overlay::Strip, ..Adjust::default() };
    let builder = merge::merged(&paths, &Search::default())?.adjust(adjust).layers();
    let builder = builder.workers(request.work.workers).verify(request.work.verify);
    let builder = builder.force(request.work.force);
    make(builder, &folder.join(MERGED), is_shown.then_some(&mut output))?;
    output.flush()?;
    Ok(Outcome::Success)
}

/// Reads the layers.
fn read(request: &Build) -> anyhow::Result<Vec<Source>> {
    let mut options = Options::with(|read| {
        request.content.clone().set(read);
        read.workers = request.work.workers;
        read.spool_dir.clone_from(&request.image);
    });
    remote::change(&Keep::Nowhere)?(&mut options);
    let layers = match &request.from {
        From::EachLayer(path) => source::container_layers(path, &options),
        From::Layers(_) | From::Manifest(..) => None,
    };
    Ok(layers.context("--layers takes one container image")??)
}

/// Makes an image and prints its report.
fn make(
    builder: Builder<'_>,
    path: &Path,
    output: Option<&mut output::Stdout>,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let Built { report, notes, .. } = build::make(|| Ok(builder), path, output.is_some())?;
    if let Some(output) = output {
        for note in &notes {
            tell(format_args!("lith: {}", NoteLine(note)));
        }
        build::write_text(path, &report, started.elapsed().as_secs_f64(), output)?;
    }
    Ok(())
}
