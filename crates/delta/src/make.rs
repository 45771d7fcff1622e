//! Makes a delta of two images.

use std::{io::Write, num::NonZeroUsize, sync::Arc};

use lith_device::ReadAt;
use lith_observer::{Observer, Phase};
use lith_parallel::try_map;
use lith_reader::Image;

use crate::{
    DeltaError, Header,
    apply::read_prefix,
    gather::{Gathered, gather},
    header::Identity,
    pack,
    plan::{Piece, Surveyed, plan},
    survey::Survey,
    unit::{Form, Side},
    wire::put,
};

/// Two images. The first device of each is its own; the others are those of its device table, and no part of it.
#[derive(Clone)]
pub struct Images {
    /// The image that those have who get the delta.
    pub old: Vec<Arc<dyn ReadAt>>,
    /// The image that they shall have.
    pub new: Vec<Arc<dyn ReadAt>>,
}

/// How a delta is made.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The effort to make it small, 1 to 22, in the sense of Zstandard.
    pub level: i32,
    /// Whether compressed data is compressed again when the delta is applied. Otherwise the delta holds what the old
    /// image lacks as it is stored: it is larger, and applied as fast as it is read.
    pub recompress: bool,
    /// Threads that work.
    pub workers: NonZeroUsize,
    /// Follows the work and can cancel it.
    pub observer: &'a dyn Observer,
}

/// Facts about a delta.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Made {
    /// Bytes of the delta.
    pub bytes: u64,
    /// Bytes of the old image.
    pub old: u64,
    /// Bytes of the new image.
    pub new: u64,
    /// Bytes of the new image that the old one has, in units as they are stored.
    pub copied: u64,
    /// Bytes of the new image that are compressed again.
    pub compressed: u64,
    /// Bytes of the new image that are stored in the delta as they are.
    pub stored: u64,
}

/// Writes the delta that makes the new image of the old one.
///
/// # Errors
/// [`DeltaError`] if a file can't be read or written. A file that is no image, or a damaged one, is none.
pub fn make(
    images: &Images,
    out: &mut dyn Write,
    options: &Options<'_>,
) -> Result<Made, DeltaError> {
    let Options { level, recompress, workers, observer } = *options;
    observer.begin(Phase::Scanning);
    let old = Given::open(&images.old, Side::Old, recompress)?;
    let new = Given::open(&images.new, Side::New, recompress)?;
    let (old_side, new_side) = (old.surveyed(), new.surveyed());
    let block = new.image.as_ref().map_or(4096, |image| image.superblock().block.size());
    let (pieces, codings) = plan(old_side, new_side, recompress, workers)?;
    let mut made = count(&pieces);
    (made.old, made.new) = (old.identity.bytes, new.identity.bytes);
    let gathered = gather(old_side, new_side, pieces, workers)?;
    let header = Header { old: old.identity, new: new.identity, block, codings };
    let mut out = Counted { out, bytes: 0 };
    out.write_all(&header.encode()).map_err(DeltaError::Write)?;
    observer.begin(Phase::Storing);
    observer.expect(gathered.iter().map(|gathered| gathered.section.content).sum());
    for some in gathered.chunks(workers.get().saturating_mul(2)) {
        if observer.is_cancelled() {
            return Err(DeltaError::Cancelled);
        }
        let packed = try_map(
            some,
            workers,
            || (),
            |(), gathered: &Gathered| {
                let content = gathered.content(new_side)?;
                let (old, new) = (old_side.device, new_side.device);
                let prefix = read_prefix(&gathered.section, old, new, NonZeroUsize::MIN)?;
                let packed = pack::pack(&content, &prefix, level);
                observer.advance(gathered.section.content);
                packed.ok_or(DeltaError::Damaged("there is not enough memory to compress it"))
            },
        )?;
        for (Gathered { section, .. }, packed) in some.iter().zip(packed) {
            section.write(&packed, &mut out)?;
        }
    }
    let mut end = Vec::new();
    put(&mut end, 0);
    out.write_all(&end).and_then(|()| out.flush()).map_err(DeltaError::Write)?;
    made.bytes = out.bytes;
    Ok(made)
}

/// An image that was given.
struct Given {
    device: Arc<dyn ReadAt>,
    identity: Identity,
    image: Option<Image>,
    survey: Survey,
}

impl Given {
    /// Opens an image, of which pclusters are compared by their content if they are decoded, and else as they are stored.
    fn open(devices: &[Arc<dyn ReadAt>], side: Side, decoded: bool) -> Result<Self, DeltaError> {
        let failed = |source| DeltaError::Image { image: side.name(), source };
        let device = devices.first().ok_or(DeltaError::Damaged("there is no image"))?;
        let identity = Identity::of(device, device.size()).map_err(failed)?;
        let all = devices.iter().map(|device| Box::new(Arc::clone(device)) as Box<dyn ReadAt>);
        let image = Image::open_with(all.collect(), lith_reader::Options::default()).ok();
        let mut survey = Survey::of(image.as_ref(), identity.bytes);
        if !decoded {
            survey.units.iter_mut().for_each(|unit| unit.form = Form::Bytes);
        }
        Ok(Self { device: Arc::clone(device), identity, image, survey })
    }

    fn surveyed(&self) -> Surveyed<'_> {
        Surveyed { device: &self.device, image: self.image.as_ref(), survey: &self.survey }
    }
}

fn count(pieces: &[Piece]) -> Made {
    let mut made = Made::default();
    for piece in pieces {
        match piece {
            Piece::Copy { len, .. } => made.copied += len,
            Piece::Bytes { len, .. } => made.stored += len,
            Piece::Run(run) => made.compressed += run.stored,
        }
    }
    made
}

/// Counts what is written.
struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(buf)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
