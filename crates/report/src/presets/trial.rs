//! Builds a sample with some options, and infers the size of the whole image.

use std::path::Path;

use lith_builder::{Context, Options, Output};
use lith_device::FileDevice;
use lith_reader::Image;
use lith_source::Source;
use lith_tree::{Filesystem, InodeIndex, MemoryContents, Tree};

use super::sample::{Sample, SampleContents};
use crate::{error::EstimateError, facts::Summary};

/// By how much the estimate for the image's own settings may differ from the truth, in parts of it. If it differs by more, the
/// image was made with other settings that its superblock doesn't tell, such as another level.
const OWN: f64 = 0.05;
/// A smaller gain is noise.
const LEAST_GAIN: f64 = 0.002;

/// What is built for trials, and where.
pub(super) struct Samples<'a> {
    pub(super) source: &'a Source,
    pub(super) whole: &'a Sample,
    pub(super) halves: &'a [Sample; 2],
    /// The folder for temporary files.
    pub(super) folder: &'a Path,
}

/// A sample built with some options.
pub(super) struct Trial {
    /// Bytes of its image.
    pub(super) bytes: u64,
    /// The size of that image divided by the sum of those of its halves.
    gain: f64,
    settings: Settings,
}

/// What the superblock tells of the options that an image was made with.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Settings {
    algorithms: Vec<(&'static str, String)>,
    features: Vec<&'static str>,
}

impl Settings {
    fn of(image: &Image) -> Self {
        let Summary { algorithms, features, .. } = Summary::new(image);
        let algorithms = algorithms.into_iter().map(|algorithm| (algorithm.name, algorithm.needs));
        let mut features = features.incompat;
        // Whether these are set depends on the data.
        features.retain(|name| {
            matches!(*name, "fragments/dedupe" | "ztailpacking" | "metabox" | "48bit")
        });
        Self { algorithms: algorithms.collect(), features }
    }
}

impl Trial {
    pub(super) fn new(samples: &Samples<'_>, options: &Options) -> Result<Self, EstimateError> {
        let Samples { source, folder, .. } = *samples;
        let built = |sample: &Sample| {
            let contents = SampleContents { sample, source };
            build(Filesystem::new(&sample.tree, &contents), options, folder)
        };
        let tree = Tree::new(source.tree.get(InodeIndex::ROOT).metadata);
        let nothing = MemoryContents::default();
        let (least, _) = build(Filesystem::new(&tree, &nothing), options, folder)?;
        let (bytes, settings) = built(samples.whole)?;
        let [(one, _), (other, _)] = [built(&samples.halves[0])?, built(&samples.halves[1])?];
        let rest = |bytes: u64| float(bytes.saturating_sub(least).max(1));
        let gain = (rest(bytes) / (rest(one) + rest(other))).clamp(0.5, 1.0);
        Ok(Self { bytes, gain: if gain > 1.0 - LEAST_GAIN { 1.0 } else { gain }, settings })
    }

    /// What the sample takes in an image of `2^doublings` times as much data.
    fn within(&self, doublings: f64) -> f64 {
        float(self.bytes) * self.gain.powf(doublings)
    }
}

/// What sizes of samples mean for the whole image.
pub(super) struct Scale {
    doublings: f64,
    /// What the sample takes in the image as it is.
    stored: f64,
    /// The trial with the image's own settings.
    pub(super) own: Option<usize>,
}

impl Scale {
    /// From the sample's stored bytes in the image, its bytes and those of all content.
    pub(super) fn new(trials: &[Trial], image: &Image, [stored, part, all]: [u64; 3]) -> Self {
        let settings = Settings::of(image);
        let stored = float(stored.max(1));
        let doublings = (float(all) / float(part.max(1))).max(1.0).log2();
        let distance = |trial: &Trial| (trial.within(doublings) / stored - 1.0).abs();
        let alike = trials.iter().enumerate().filter(|(_, trial)| trial.settings == settings);
        let near = alike.map(|(number, trial)| (number, trial, distance(trial)));
        let nearest = near.filter(|near| near.2 <= OWN).min_by(|a, b| a.2.total_cmp(&b.2));
        let Some((number, own, _)) = nearest else { return Self { doublings, stored, own: None } };
        // How often its own gain came true.
        let known = (stored / float(own.bytes)).ln() / own.gain.ln();
        let known = if known.is_finite() { known.clamp(0.0, 2.0 * doublings) } else { doublings };
        Self { doublings: known, stored: own.within(known), own: Some(number) }
    }

    /// Bytes of an image of everything with the options of a trial, if it has `now` bytes as it is.
    pub(super) fn image(&self, trial: &Trial, now: u64) -> u64 {
        rounded(float(now) * (trial.within(self.doublings) / self.stored))
    }
}

/// Bytes of an image of a tree, and its settings.
pub(super) fn build(
    fs: Filesystem<'_>,
    options: &Options,
    folder: &Path,
) -> Result<(u64, Settings), EstimateError> {
    let failed = |source| EstimateError::Temporary { folder: folder.to_owned(), source };
    let file = tempfile::tempfile_in(folder).map_err(failed)?;
    let output = Output::new(&file, 0);
    let built = lith_builder::build(fs, output, options, &Context::new(folder))?;
    let image = Image::open(FileDevice::new(file).map_err(failed)?)?;
    Ok((built.report.image_bytes, Settings::of(&image)))
}

#[expect(clippy::cast_precision_loss, reason = "an estimate needs no more digits than a float has")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is not negative, and one that is too large becomes the largest"
)]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(bytes: u64, gain: f64) -> Trial {
        let settings = Settings { algorithms: Vec::new(), features: Vec::new() };
        Trial { bytes, gain, settings }
    }

    #[test]
    fn each_doubling_gains_as_much() {
        let scale = Scale { doublings: 2.0, stored: 100.0, own: None };
        assert_eq!(scale.image(&trial(100, 1.0), 4000), 4000);
        assert_eq!(scale.image(&trial(100, 0.5), 4000), 1000);
    }
}
