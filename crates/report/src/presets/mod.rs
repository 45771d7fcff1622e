//! How large would an image be with other options?
//!
//! Defines [`estimate()`], which builds samples of the image's content.

mod quick;
mod sample;
mod trial;

use std::{path::Path, sync::Arc};

use lith_builder::Options;
use lith_reader::Image;
use lith_source::Source;
use lith_survey::devices_size;

use self::{
    sample::Sample,
    trial::{Samples, Scale, Trial},
};
use crate::{
    error::EstimateError,
    facts::{Estimate, Estimates, Facts},
    number,
    walk::Walk,
};

/// Bytes of file content that are built with the options themselves.
const SAMPLE: u64 = 64 << 20;
/// Runs of neighbouring files in that: enough to meet most kinds of files, and long, as an encoder of long reach gains
/// less in short ones than in the image.
const RUNS: u64 = 8;
/// Bytes of file content that are built with quick encoders. What files have in common shows only in many of them.
const WIDE: u64 = 1 << 30;
/// Runs of neighbouring files in that.
const WIDE_RUNS: u64 = 64;

/// Estimates the size of `image`, whose facts are `facts`, with the options of each candidate, which has a name. Temporary
/// files are in `folder`.
///
/// Two phases: all content, or [`WIDE`] bytes of it, is built with the options of each candidate, but with a quick encoder of
/// like reach. So duplicates, fragments and their order, tails and metadata are as in the image. A sample of [`SAMPLE`]
/// bytes is built with the quick encoder and with the candidate's own, and the ratio of both is taken for that of the
/// whole.
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
    let estimate = |name: &str, sample_image, image| Estimate {
        name: name.to_owned(),
        sample_image,
        image,
        ratio: number::ratio(image, now),
    };
    let Some(sample) = Sample::new(&source.tree, SAMPLE, RUNS) else {
        let built = candidates.iter().map(|(name, options)| {
            let size = trial::build(source.filesystem(), options, folder)?.bytes;
            Ok(estimate(name, size, size))
        });
        let presets = built.collect::<Result<_, EstimateError>>()?;
        let bytes = facts.contents.as_ref().map_or(0, |contents| contents.bytes);
        let [sample_bytes, sample_stored] = [bytes, now];
        return Ok(Estimates {
            sample_bytes,
            sample_stored,
            is_whole: true,
            now,
            presets,
            own: None,
        });
    };
    let wide = Sample::new(&source.tree, WIDE, WIDE_RUNS);
    let samples = Samples { source: &source, narrow: &sample, wide: wide.as_ref(), folder };
    let trials = candidates.iter().map(|(_, options)| Trial::new(&samples, options));
    let trials = trials.collect::<Result<Vec<_>, EstimateError>>()?;
    let wide_stored = wide.as_ref().map(|wide| measure(image, facts, &source, wide));
    let scale = Scale::new(&trials, image, [now, wide_stored.transpose()?.unwrap_or(now)]);
    let presets =
        candidates.iter().zip(trials.iter().enumerate()).map(|((name, _), (number, trial))| {
            estimate(name, trial.bytes, scale.image(number, trial))
        });
    let own = scale.own.and_then(|own| candidates.get(own)).map(|(name, _)| (*name).to_owned());
    Ok(Estimates {
        sample_bytes: sample.bytes(),
        sample_stored: measure(image, facts, &source, &sample)?,
        is_whole: false,
        now,
        presets: presets.collect(),
        own,
    })
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
