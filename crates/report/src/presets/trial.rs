//! Builds a sample with some options, or everything if that is quick, and infers the size of the whole image.

use std::path::Path;

use lith_builder::{Context, Options, Output};
use lith_device::FileDevice;
use lith_format::compression::Algorithm;
use lith_reader::Image;
use lith_source::Source;
use lith_tree::Filesystem;

use super::sample::{Sample, SampleContents};
use crate::{error::EstimateError, facts::Summary};

/// By how much the estimate for the image's own settings may differ from the truth, in parts of it. If it differs by more, the
/// image was made with other settings that its superblock doesn't tell, such as another level.
const OWN: f64 = 0.05;
/// The same where everything was built, so that hardly more than the shape of the source can differ.
const OWN_BUILT: f64 = 0.001;
/// Bytes of file content up to which all of it is built, with options that take some ten seconds for that on two cores.
const QUICK: u64 = 512 << 20;

/// What is built for trials, and where.
pub(super) struct Samples<'a> {
    pub(super) source: &'a Source,
    /// Bytes of all content.
    pub(super) all: u64,
    pub(super) sample: &'a Sample,
    /// The folder for temporary files.
    pub(super) folder: &'a Path,
}

/// What was built with some options.
pub(super) struct Trial {
    /// Bytes of an image of everything, if that was built.
    pub(super) whole: Option<u64>,
    /// Bytes of an image of the sample.
    pub(super) sample: u64,
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
        let Samples { source, sample, folder, .. } = *samples;
        let contents = SampleContents { sample, source };
        let (sample, settings) = build(Filesystem::new(&sample.tree, &contents), options, folder)?;
        let is_quick = options.algorithms().all(|algorithm| algorithm != Algorithm::Lzma);
        let is_quick = is_quick && samples.all <= QUICK;
        let whole = if is_quick { samples.everything(options)? } else { None };
        Ok(Self { whole, sample, settings })
    }
}

impl Samples<'_> {
    /// Bytes of an image of everything; `None` if there is no room for it.
    fn everything(&self, options: &Options) -> Result<Option<u64>, EstimateError> {
        match build(self.source.filesystem(), options, self.folder) {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(error) if is_full(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether temporary data had no room.
fn is_full(error: &EstimateError) -> bool {
    use lith_builder::BuildError::{Output, Temporary};
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error {
        EstimateError::Build(Output { source, .. } | Temporary { source, .. }) => {
            matches!(source.kind(), FileTooLarge | QuotaExceeded | StorageFull)
        }
        _ => false,
    }
}

/// What sizes of samples mean for the whole image.
///
/// The reference is what is known both for everything and for the sample: the last candidate of which everything was built, or
/// else the image as it is. The sample represents everything with other options as well, or as badly, as with those of the reference.
pub(super) struct Scale {
    /// Bytes of everything divided by those of the sample, with the reference's options.
    times: f64,
    /// What the image's true size is of its estimate, if it is made with the options of a candidate.
    correction: f64,
    /// The candidate with the image's own settings.
    pub(super) own: Option<usize>,
}

impl Scale {
    /// For an image that has `now` bytes, of which the sample takes `stored`.
    pub(super) fn new(trials: &[Trial], image: &Image, [now, stored]: [u64; 2]) -> Self {
        let whole = trials.iter().filter_map(|trial| Some((trial.whole?, trial))).next_back();
        let [everything, sample] =
            whole.map_or([now, stored], |(whole, trial)| [whole, trial.sample]);
        let times = float(everything) / float(sample.max(1));
        let scale = Self { times, correction: 1.0, own: None };
        scale.corrected(trials, &Settings::of(image), now)
    }

    /// By the image as it is, if that seems to be made with the options of a candidate.
    fn corrected(self, trials: &[Trial], settings: &Settings, now: u64) -> Self {
        let share = |trial: &Trial| float(now) / float(self.image(trial).max(1));
        let alike = trials.iter().enumerate().filter(|(_, trial)| trial.settings == *settings);
        let near = alike.map(|(number, trial)| (number, trial.whole.is_some(), share(trial)));
        let distance = |near: &(usize, bool, f64)| (near.2 - 1.0).abs();
        let near = near.filter(|near| distance(near) <= if near.1 { OWN_BUILT } else { OWN });
        match near.min_by(|a, b| distance(a).total_cmp(&distance(b))) {
            None => self,
            Some((own, true, _)) => Self { own: Some(own), ..self },
            Some((own, false, correction)) => Self { own: Some(own), correction, ..self },
        }
    }

    /// Bytes of an image of everything with the options of a trial.
    pub(super) fn image(&self, trial: &Trial) -> u64 {
        let estimated = || rounded(float(trial.sample) * self.times * self.correction);
        trial.whole.unwrap_or_else(estimated)
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

    fn settings(algorithm: &'static str) -> Settings {
        Settings { algorithms: vec![(algorithm, String::new())], features: Vec::new() }
    }

    fn trial(sample: u64) -> Trial {
        Trial { whole: None, sample, settings: settings("lzma") }
    }

    fn scale() -> Scale {
        Scale { times: 40.0, correction: 1.0, own: None }
    }

    #[test]
    fn the_sample_represents_everything() {
        assert_eq!(scale().image(&trial(100)), 4000);
        assert_eq!(scale().image(&Trial { whole: Some(17), ..trial(100) }), 17);
    }

    #[test]
    fn the_image_itself_corrects_estimates() {
        let trials = [trial(100), trial(90), Trial { whole: Some(5000), ..trial(120) }];
        let scale = scale().corrected(&trials, &settings("lzma"), 4100);
        let sizes = trials.each_ref().map(|trial| scale.image(trial));
        assert_eq!((scale.own, sizes), (Some(0), [4100, 3690, 5000]));
    }

    #[test]
    fn an_image_of_other_settings_corrects_nothing() {
        for (settings, now) in [(settings("zstd"), 4000), (settings("lzma"), 4500)] {
            let scale = scale().corrected(&[trial(100)], &settings, now);
            assert_eq!((scale.own, scale.image(&trial(100))), (None, 4000));
        }
        let built = [Trial { whole: Some(3300), ..trial(100) }];
        assert_eq!(scale().corrected(&built, &settings("lzma"), 3310).own, None);
        assert_eq!(scale().corrected(&built, &settings("lzma"), 3300).own, Some(0));
    }
}
