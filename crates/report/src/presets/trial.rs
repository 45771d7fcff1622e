//! Builds a sample with some options, and infers the size of the whole image.

use std::path::Path;

use lith_builder::{Context, Options, Output};
use lith_device::FileDevice;
use lith_reader::Image;
use lith_source::Source;
use lith_tree::Filesystem;

use super::{
    quick::quick,
    sample::{Sample, SampleContents},
};
use crate::{error::EstimateError, facts::Summary};

/// By how much the estimate for the image's own settings may differ from the truth, in parts of it. If it differs by more, the
/// image was made with other settings that its superblock doesn't tell, such as another level.
const OWN: f64 = 0.05;

/// What is built for trials, and where.
pub(super) struct Samples<'a> {
    pub(super) source: &'a Source,
    /// What is built with the options themselves.
    pub(super) narrow: &'a Sample,
    /// What is built with quick encoders; `None` is everything.
    pub(super) wide: Option<&'a Sample>,
    /// The folder for temporary files.
    pub(super) folder: &'a Path,
}

/// Samples built with some options.
pub(super) struct Trial {
    /// Bytes of the image of the narrow sample.
    pub(super) bytes: u64,
    /// Bytes that an image of the wide sample would have.
    wide: f64,
    /// Whether that is the size of an image of everything that was built.
    is_exact: bool,
    settings: Settings,
}

/// An image that was built.
pub(super) struct Built {
    pub(super) bytes: u64,
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
        let Samples { source, narrow, wide, folder } = *samples;
        let of_sample = |sample: &Sample, options: &Options| {
            let contents = SampleContents { sample, source };
            build(Filesystem::new(&sample.tree, &contents), options, folder)
        };
        let of_wide = |options: &Options| match wide {
            Some(wide) => of_sample(wide, options),
            None => build(source.filesystem(), options, folder),
        };
        let Built { bytes, settings } = of_sample(narrow, options)?;
        let Some(quick) = quick(options) else {
            let (wide, is_exact) = (float(of_wide(options)?.bytes), wide.is_none());
            return Ok(Self { bytes, wide, is_exact, settings });
        };
        let ratio = float(bytes) / float(of_sample(narrow, &quick)?.bytes);
        let wide = float(of_wide(&quick)?.bytes) * ratio;
        Ok(Self { bytes, wide, is_exact: false, settings })
    }
}

/// What sizes of samples mean for the whole image.
pub(super) struct Scale {
    /// Bytes of the image divided by those of the wide sample in it.
    factor: f64,
    now: u64,
    /// The trial with the image's own settings.
    pub(super) own: Option<usize>,
}

impl Scale {
    /// From the bytes of the image now, and those of the wide sample in it.
    pub(super) fn new(trials: &[Trial], image: &Image, [now, stored]: [u64; 2]) -> Self {
        let settings = Settings::of(image);
        let distance = |trial: &Trial| (trial.wide / float(stored.max(1)) - 1.0).abs();
        let alike = trials.iter().enumerate().filter(|(_, trial)| trial.settings == settings);
        let near = alike.map(|(number, trial)| (number, trial, distance(trial)));
        let nearest = near.filter(|near| near.2 <= OWN).min_by(|a, b| a.2.total_cmp(&b.2));
        let own = nearest.map(|(number, ..)| number);
        let part = nearest.map_or(float(stored), |(_, own, _)| own.wide);
        Self { factor: float(now) / part.max(1.0), now, own }
    }

    /// Bytes of an image of everything with the options of a trial.
    pub(super) fn image(&self, number: usize, trial: &Trial) -> u64 {
        match trial {
            _ if self.own == Some(number) => self.now,
            Trial { is_exact: true, wide, .. } => rounded(*wide),
            Trial { wide, .. } => rounded(wide * self.factor),
        }
    }
}

/// Builds an image of a tree.
pub(super) fn build(
    fs: Filesystem<'_>,
    options: &Options,
    folder: &Path,
) -> Result<Built, EstimateError> {
    let failed = |source| EstimateError::Temporary { folder: folder.to_owned(), source };
    let file = tempfile::tempfile_in(folder).map_err(failed)?;
    let output = Output::new(&file, 0);
    let built = lith_builder::build(fs, output, options, &Context::new(folder))?;
    let image = Image::open(FileDevice::new(file).map_err(failed)?)?;
    Ok(Built { bytes: built.report.image_bytes, settings: Settings::of(&image) })
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
