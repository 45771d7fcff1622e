//! Merges images as layers (`lith merge`).

use std::path::{Path, PathBuf};

use anyhow::Context;
use lith::{
    Builder,
    bases::Search,
    reader::{self, Image},
    source,
};

use super::{build, device, flatten, subject, trees};
use crate::{
    args::{MessageArgs, location::Location, merge::Merge},
    exit::Outcome,
    output::error::Place,
};

pub(crate) fn run(request: &Merge, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let Merge { layers, output, copy, digests, devices, workers, json } = request;
    layers.iter().try_for_each(|layer| device::refuse_pipe(layer))?;
    let search = devices.search().shared();
    let open = || {
        let builder = merged(layers, &search)?.workers(workers.count());
        Ok(match (copy, digests) {
            (true, _) => builder.copied_layers(),
            (false, true) => builder.digested_layers(),
            (false, false) => builder.layers(),
        })
    };
    build::make_and_print(open, output, messages, *json)
}

/// A build of images as layers, the lowest first.
pub(super) fn merged(layers: &[PathBuf], search: &Search) -> anyhow::Result<Builder<'static>> {
    let images = layers.iter().map(|layer| open_image(layer, search));
    let options = flatten::options_for(&images.collect::<anyhow::Result<Vec<_>>>()?)?;
    let (everything, reader) = (trees::everything(), reader::Options::of_several(layers.len()));
    let source = |layer: &PathBuf| {
        trees::open_with(&Location::new(layer, search.clone()), &everything, reader)
    };
    let sources = layers.iter().map(source);
    let merged = source::merge(sources.collect::<anyhow::Result<_>>()?)?;
    let builder = Builder::source(merged).options(|all| *all = options).search(search.clone());
    Ok(layers.iter().fold(builder, Builder::base))
}

fn open_image(path: &Path, search: &Search) -> anyhow::Result<Image> {
    let devices = subject::open_all(&Location::new(path, search.clone()))?;
    let image = Image::open_with(devices, reader::Options::default());
    image.with_context(|| Place(path).to_string())
}
