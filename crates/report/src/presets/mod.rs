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

/// Bytes of file content that are built for an estimate: for LZMA at most effort some twenty seconds on two cores.
const SAMPLE: u64 = 64 << 20;

/// Builds the content of `image`, whose facts are `facts`, with the options of each candidate, which has a name, into temporary files
/// in `folder`: everything where that takes some seconds, else a sample.
///
/// A sample is compared with what it takes with the last candidate of which everything was built, or else in the image as it is, and
/// that with the whole. If the image itself seems to be made with the options of a candidate, that one's is the true size, and others are
/// corrected by it.
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
    let all = facts.contents.as_ref().map_or(0, |contents| contents.bytes);
    let estimate = |name: &str, [sample_image, image]: [u64; 2], is_exact| Estimate {
        name: name.to_owned(),
        sample_image,
        image,
        ratio: number::ratio(image, now),
        is_exact,
    };
    let Some(sample) = Sample::new(&source.tree, SAMPLE) else {
        let built = candidates.iter().map(|(name, options)| {
            let (size, _) = trial::build(source.filesystem(), options, folder)?;
            Ok(estimate(name, [size, size], true))
        });
        let presets = built.collect::<Result<_, EstimateError>>()?;
        let [sample_bytes, sample_stored] = [all, now];
        return Ok(Estimates {
            sample_bytes,
            sample_stored,
            is_whole: true,
            now,
            presets,
            own: None,
        });
    };
    let samples = Samples { source: &source, all, sample: &sample, folder };
    let trials = candidates.iter().map(|(_, options)| Trial::new(&samples, options));
    let trials = trials.collect::<Result<Vec<_>, EstimateError>>()?;
    let [sample_bytes, sample_stored] = [sample.bytes(), measure(image, facts, &source, &sample)?];
    let scale = Scale::new(&trials, image, [now, sample_stored]);
    let presets = candidates.iter().zip(&trials).map(|((name, _), trial)| {
        estimate(name, [trial.sample, scale.image(trial)], trial.whole.is_some())
    });
    let own = scale.own.and_then(|own| candidates.get(own)).map(|(name, _)| (*name).to_owned());
    let presets = presets.collect();
    Ok(Estimates { sample_bytes, sample_stored, is_whole: false, now, presets, own })
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
