//! Makes one image of a patch and its bases (`lith flatten`).

use anyhow::Context;
use lith::{
    Builder, Preset,
    builder::Options,
    format::kernel::{KernelVersion, min_kernel},
    reader::Image,
    source::OnError,
};

use super::{build, device, subject::Subject, trees};
use crate::{
    args::{MessageArgs, flatten::Flatten},
    exit::Outcome,
    output::error::Place,
};

pub(crate) fn run(request: &Flatten, messages: MessageArgs) -> anyhow::Result<Outcome> {
    let Flatten { image, output, rebuild, workers, json } = request;
    device::refuse_pipe(&image.image)?;
    if image.offset.0 > 0 && !rebuild {
        anyhow::bail!(
            "{}: only an image at the start of its file can be copied",
            Place(&image.image)
        );
    }
    if image.trust.root_hash.is_some() && !rebuild {
        anyhow::bail!(
            "{}: what is copied is not verified on the way; `lith verity verify` it first, or use --rebuild",
            Place(&image.image)
        );
    }
    let workers = workers.count();
    let open = || {
        let builder = Builder::source(trees::of_image(Subject::open(image)?, OnError::Fail)?)
            .workers(workers);
        if *rebuild {
            return Ok(builder);
        }
        let options = options_for(&[Subject::open(image)?.image])?;
        let builder = builder.options(|all| *all = options);
        Ok(builder.base(&image.image).search(image.devices.search()).copied_layers())
    };
    build::make_and_print(open, output, messages, *json)
}

/// Options for an image that the kernels mount which mount the images that it is made of.
pub(super) fn options_for(images: &[Image]) -> anyhow::Result<Options> {
    let first = images.first().context("there is no image")?.superblock();
    let kernels = images.iter().map(|image| min_kernel(image.superblock()));
    let kernel = kernels.fold(KernelVersion::DEFAULT, Ord::max);
    let mut options = Preset::default().options(kernel);
    options.layout.block = first.block;
    Ok(options)
}
