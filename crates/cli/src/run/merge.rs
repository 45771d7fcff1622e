//! Merges images as layers (`lith merge`).

use std::path::Path;

use anyhow::Context;
use lith::{
    Builder,
    bases::Search,
    reader::{self, Image},
    source,
};

use super::{build, flatten, subject, trees};
use crate::{
    args::{MessageArgs, location::Location, merge::Merge},
    exit::Outcome,
    output::error::Place,
};

pub(crate) fn run(request: &Merge, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let Merge { layers, output, copy, digests, devices, workers } = request;
    let search = devices.search().shared();
    let open = || {
        let images = layers.iter().map(|layer| open_image(layer, &search));
        let options = flatten::options_for(&images.collect::<anyhow::Result<Vec<_>>>()?)?;
        let sources = layers.iter().map(|layer| trees::open(layer, &search, &trees::everything()));
        let merged = source::merge(sources.collect::<anyhow::Result<_>>()?)?;
        let builder = Builder::source(merged).options(|all| *all = options);
        let builder = builder.workers(workers.count()).search(search.clone());
        let builder = layers.iter().fold(builder, Builder::base);
        Ok(match (copy, digests) {
            (true, _) => builder.copied_layers(),
            (false, true) => builder.digested_layers(),
            (false, false) => builder.layers(),
        })
    };
    build::make(open, output, !messages.quiet)?;
    Ok(Outcome::Success)
}

fn open_image(path: &Path, search: &Search) -> anyhow::Result<Image> {
    let devices = subject::open_all(&Location::new(path, search.clone()))?;
    let image = Image::open_with(devices, reader::Options::default());
    image.with_context(|| Place(path).to_string())
}
