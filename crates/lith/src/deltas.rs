//! Makes deltas of images, and applies them, beside the files that they become.

use std::{
    fs::File,
    io::{self, BufWriter, Read},
    num::NonZeroUsize,
    path::Path,
};

use lith_delta::{Applied, Images, Made, Options, apply, make};
use lith_device::ReadAt;
use lith_observer::Observer;

use crate::{Error, build::Staged};

/// Writes a delta of two images to a file at `path`, which is complete before it has its name.
///
/// # Errors
/// [`Error`] names the cause; then what was at `path` is still there.
pub fn make_delta(images: &Images, path: &Path, options: &Options<'_>) -> Result<Made, Error> {
    staged(path, |file| {
        let mut out = BufWriter::new(file);
        Ok(make(images, &mut out, options)?)
    })
}

/// Writes the image that a delta makes of an old one to a file at `path`. Its digest is compared before it has its name.
///
/// # Errors
/// [`Error`] names the cause; then what was at `path` is still there, unless it is a block device.
pub fn apply_delta(
    old: &dyn ReadAt,
    delta: &mut dyn Read,
    path: &Path,
    (workers, observer): (NonZeroUsize, &dyn Observer),
) -> Result<Applied, Error> {
    staged(path, |file| Ok(apply(old, delta, file, (workers, observer))?))
}

/// Does `work` in a file without a name, and gives it its name.
fn staged<T>(path: &Path, work: impl FnOnce(&File) -> Result<T, Error>) -> Result<T, Error> {
    let failed =
        |action| move |source: io::Error| Error::Target { path: path.to_owned(), action, source };
    let mut staged = Staged::create(path).map_err(failed("create"))?;
    let result = work(staged.file())?;
    let synced = staged.file().sync_data().and_then(|()| staged.prepare());
    synced.map_err(failed("put into place"))?;
    let placed = staged.commit().map_err(failed("put into place"))?;
    placed.sync().map_err(failed("sync the directory of what is in place now"))?;
    Ok(result)
}
