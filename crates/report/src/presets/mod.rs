//! How large would an image be if it were made in another way?

mod sample;

use std::{path::Path, sync::Arc};

use lith_builder::{Context, Options, Output};
use lith_reader::Image;
use lith_source::Source;
use lith_tree::Filesystem;
use serde::Serialize;

use self::sample::Sample;
use crate::{EstimateError, Facts, number, walk::Walk};

/// Bytes of file content that are built to tell how large an image would be.
const SAMPLE: u64 = 8 << 20;

/// A way to make an image.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub options: Options,
}

/// How large an image would be if it were made in other ways.
#[derive(Clone, Debug, Serialize)]
pub struct Estimates {
    /// Bytes of file content that were built: all, or runs of neighbours evenly from everywhere.
    pub sample_bytes: u64,
    /// What they take in this image, with their part of its metadata.
    pub sample_stored: u64,
    /// Whether that is all content, so that sizes are no estimates.
    pub is_whole: bool,
    /// Bytes of the image now, on all its devices.
    pub now: u64,
    /// The ways that were tried.
    pub presets: Vec<Estimate>,
}

/// How large an image would be if it were made in one way.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// What that is called.
    pub name: String,
    /// Bytes of an image of the sample.
    pub sample_image: u64,
    /// Bytes of an image of everything.
    pub image: u64,
    /// How much of the image now that is.
    pub ratio: Option<f64>,
}

/// Builds a sample of what is in `image`, of which `facts` are known, in each of the ways, into temporary files in
/// `folder`.
///
/// # Errors
/// [`EstimateError`] if the image is damaged, or there is no room.
pub fn estimate(
    image: &Arc<Image>,
    facts: &Facts,
    candidates: &[Candidate],
    folder: &Path,
) -> Result<Estimates, EstimateError> {
    let path = Path::new("image");
    let source = lith_source::image(Arc::clone(image), path, &lith_source::Options::default())?;
    let now = devices_size(image);
    let sample = Sample::new(&source.tree, SAMPLE);
    let built = |options: &Options| match &sample {
        None => build(source.filesystem(), options, folder),
        Some(sample) => {
            build(Filesystem::new(&sample.tree, &sample.contents(&source)), options, folder)
        }
    };
    let (sample_bytes, sample_stored) = match &sample {
        None => (content_bytes(facts), now),
        Some(sample) => (sample.bytes(), measure(image, facts, &source, sample)?),
    };
    let estimate = |candidate: &Candidate| {
        let (sample_image, name) = (built(&candidate.options)?, candidate.name.clone());
        let image =
            if sample.is_none() { sample_image } else { scale(sample_image, now, sample_stored) };
        Ok(Estimate { name, sample_image, image, ratio: number::ratio(image, now) })
    };
    let presets = candidates.iter().map(estimate).collect::<Result<_, EstimateError>>()?;
    Ok(Estimates { sample_bytes, sample_stored, is_whole: sample.is_none(), now, presets })
}

fn content_bytes(facts: &Facts) -> u64 {
    facts.contents.as_ref().map_or(0, |contents| contents.bytes)
}

fn devices_size(image: &Image) -> u64 {
    let further = image.device_map().slots.iter().zip(1..);
    let further = further.map(|(_, device)| image.device_size(device));
    further.fold(image.device_size(0), u64::saturating_add)
}

/// Bytes of an image of a tree.
fn build(fs: Filesystem<'_>, options: &Options, folder: &Path) -> Result<u64, EstimateError> {
    let failed = |source| EstimateError::Temporary { folder: folder.to_owned(), source };
    let file = tempfile::tempfile_in(folder).map_err(failed)?;
    let output = Output::new(&file, 0);
    let built = lith_builder::build(fs, output, options, &Context::new(folder))?;
    Ok(built.report.image_bytes)
}

/// What a sample takes in the image: its data, and as much of all else as it has of the inodes.
fn measure(
    image: &Image,
    facts: &Facts,
    source: &Source,
    sample: &Sample,
) -> Result<u64, EstimateError> {
    let mut walk = Walk::new(image, None)?;
    walk.see_shared_inodes()?;
    let mut stored: u64 = 0;
    for piece in &sample.pieces {
        let inode = image.resolve(source.tree.path(piece.file))?;
        stored = stored.saturating_add(walk.stored(&inode, piece.range())?);
    }
    let data = facts.contents.as_ref().map_or(0, |contents| contents.stored);
    let rest = devices_size(image).saturating_sub(data);
    Ok(stored.saturating_add(scale(rest, sample.tree.len() as u64, source.tree.len() as u64)))
}

/// `number` times `part` by `whole`.
fn scale(number: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
