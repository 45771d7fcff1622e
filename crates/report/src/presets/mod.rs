//! How large would an image be with other options?
//!
//! Defines [`estimate()`], which builds a sample of the image's content.

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

/// Bytes of file content that are built for an estimate.
const SAMPLE: u64 = 8 << 20;

/// Builds a sample of the content of `image`, whose facts are `facts`, with the options of each
/// candidate, which has a name, into temporary files in `folder`.
///
/// More data have more in common, so an image is smaller than its sample promises. How much two halves of the sample gain
/// from being one is taken for what each doubling up to all data gains. If the image itself seems to be made with the
/// options of a candidate, all estimates are scaled so that this one's is the true size.
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
    let samples = Sample::new(&source.tree, SAMPLE).zip(Sample::halves(&source.tree, SAMPLE));
    let Some((sample, halves)) = samples else {
        let built = candidates.iter().map(|(name, options)| {
            let (size, _) = trial::build(source.filesystem(), options, folder)?;
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
    let samples = Samples { source: &source, whole: &sample, halves: &halves, folder };
    let trials = candidates.iter().map(|(_, options)| Trial::new(&samples, options));
    let trials = trials.collect::<Result<Vec<_>, EstimateError>>()?;
    let sample_stored = measure(image, facts, &source, &sample)?;
    let all = facts.contents.as_ref().map_or(0, |contents| contents.bytes);
    let scale = Scale::new(&trials, image, [sample_stored, sample.bytes(), all]);
    let presets = candidates
        .iter()
        .zip(&trials)
        .map(|((name, _), trial)| estimate(name, trial.bytes, scale.image(trial, now)));
    let own = scale.own.and_then(|own| candidates.get(own)).map(|(name, _)| (*name).to_owned());
    Ok(Estimates {
        sample_bytes: sample.bytes(),
        sample_stored,
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
