//! How large would an image be with other options?
//!
//! Defines [`estimate()`], which builds a sample of the image's content.

mod sample;

use std::{path::Path, sync::Arc};

use lith_builder::{Context, Options, Output};
use lith_reader::Image;
use lith_source::Source;
use lith_survey::devices_size;
use lith_tree::Filesystem;

use self::sample::{Sample, SampleContents};
use crate::{
    error::EstimateError,
    facts::{Estimate, Estimates, Facts},
    number,
    walk::Walk,
};

/// Bytes of file content that are built for an estimate.
const SAMPLE: u64 = 8 << 20;

/// Builds a sample of the content of `image`, whose facts are `facts`, with the options of each
/// candidate, which has a name, into temporary files in `folder`.
///
/// # Errors
/// [`EstimateError`] if the image is corrupt, or temporary files can't be written.
pub fn estimate(
    image: &Arc<Image>,
    facts: &Facts,
    candidates: &[(&str, Options)],
    folder: &Path,
) -> Result<Estimates, EstimateError> {
    let path = Path::new("image");
    let source = lith_source::image(Arc::clone(image), path, &lith_source::Options::default())?;
    let now = devices_size(image);
    let sample = Sample::new(&source.tree, SAMPLE);
    let built = |options: &Options| match &sample {
        None => build(source.filesystem(), options, folder),
        Some(sample) => build(
            Filesystem::new(&sample.tree, &SampleContents { sample, source: &source }),
            options,
            folder,
        ),
    };
    let (sample_bytes, sample_stored) = match &sample {
        None => (facts.contents.as_ref().map_or(0, |contents| contents.bytes), now),
        Some(sample) => (sample.bytes(), measure(image, facts, &source, sample)?),
    };
    let estimate = |(name, options): &(&str, Options)| {
        let (sample_image, name) = (built(options)?, (*name).to_owned());
        let image =
            if sample.is_none() { sample_image } else { scale(sample_image, now, sample_stored) };
        Ok(Estimate { name, sample_image, image, ratio: number::ratio(image, now) })
    };
    let presets = candidates.iter().map(estimate).collect::<Result<_, EstimateError>>()?;
    Ok(Estimates { sample_bytes, sample_stored, is_whole: sample.is_none(), now, presets })
}

/// Bytes of an image of a tree.
fn build(fs: Filesystem<'_>, options: &Options, folder: &Path) -> Result<u64, EstimateError> {
    let failed = |source| EstimateError::Temporary { folder: folder.to_owned(), source };
    let file = tempfile::tempfile_in(folder).map_err(failed)?;
    let output = Output::new(&file, 0);
    let built = lith_builder::build(fs, output, options, &Context::new(folder))?;
    Ok(built.report.image_bytes)
}

/// The stored bytes of a sample in the image: its data, and a share of all else by its number of inodes.
fn measure(
    image: &Image,
    facts: &Facts,
    source: &Source,
    sample: &Sample,
) -> Result<u64, EstimateError> {
    let mut walk = Walk::new(image, None)?;
    walk.see_shared_inodes()?;
    let mut stored: u64 = 0;
    for excerpt in &sample.excerpts {
        let inode = image.resolve(source.tree.path(excerpt.file))?;
        stored = stored.saturating_add(walk.stored(&inode, excerpt.range())?);
    }
    let data = facts.contents.as_ref().map_or(0, |contents| contents.stored);
    let rest = devices_size(image).saturating_sub(data);
    Ok(stored.saturating_add(scale(rest, sample.tree.len() as u64, source.tree.len() as u64)))
}

/// `number` times `part` divided by `whole`, at most `u64::MAX`.
fn scale(number: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
