//! Estimates the size of an image with other presets.

use std::{path::Path, sync::Arc};

use lith::{
    builder::Preset,
    format::kernel::{self, KernelVersion},
    reader::Image,
};
use lith_report::{Estimates, Facts};

/// Builds a sample of an image with each preset, for the default kernel or the oldest that mounts the image if that is
/// newer. Temporary data is stored in `folder`.
pub(crate) fn estimate(
    image: &Arc<Image>,
    facts: &Facts,
    folder: &Path,
) -> anyhow::Result<Estimates> {
    let kernel = KernelVersion::DEFAULT.max(kernel::min_kernel(image.superblock()));
    let candidates = Preset::ALL.map(|preset| (preset.name(), preset.options(kernel)));
    Ok(lith_report::estimate(image, facts, &candidates, folder)?)
}
