//! How large would an image be with other presets?

use std::{path::Path, sync::Arc};

use clap::ValueEnum;
use lith::{
    format::kernel::{self, KernelVersion},
    reader::Image,
};
use lith_report::{Candidate, Estimates, Facts};

use crate::args::preset::Preset;

/// Builds a sample of an image with each preset, for the oldest kernel that images are made for unless this one needs a
/// newer one; temporary data goes into `folder`.
pub(crate) fn estimate(
    image: &Arc<Image>,
    facts: &Facts,
    folder: &Path,
) -> anyhow::Result<Estimates> {
    let kernel = KernelVersion::DEFAULT.max(kernel::min_kernel(image.superblock()));
    let candidate = |preset: &Preset| {
        let name = preset.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        let options = preset.options(kernel).map_err(anyhow::Error::msg)?;
        Ok(Candidate { name, options })
    };
    let candidates: Vec<_> =
        Preset::value_variants().iter().map(candidate).collect::<anyhow::Result<_>>()?;
    Ok(lith_report::estimate(image, facts, &candidates, folder)?)
}
