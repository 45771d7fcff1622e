//! Reads what is at hand as a file or arrives from start to end, whatever its type.

use std::{
    fs::File,
    io::{self, Cursor, Read, Seek, SeekFrom},
    path::Path,
};

use lith_device::{ArrivingDevice, FileDevice};
use lith_format::superblock::{SUPERBLOCK_POSITION, Superblock};

use crate::{
    Options, Source, SourceError, archive, archive_stream,
    detect::{self, Looks, detect},
    error::cannot,
    squashfs, tar, zip,
};

/// Bytes in which the superblock of an image is, which says how long that is. With a metabox it reaches beyond what tells types
/// apart.
const START: usize = 4096;

/// Bytes of a stream that are copied at once.
const BUFFER: usize = 256 << 10;

/// What is at a path.
#[derive(Debug)]
pub enum Opened {
    /// A directory, tar, cpio archive or SquashFS image, read.
    Source(Source),
    /// A file that starts as an EROFS image does, not read yet.
    Image(File),
    /// The same from a pipe: what has arrived of it.
    Arriving(ArrivingDevice),
    /// The same on a server.
    #[cfg(feature = "remote")]
    RemoteImage(lith_remote::RemoteDevice),
}

/// Reads what a file or block device has.
pub(crate) fn seekable(file: File, path: &Path, options: &Options) -> Result<Opened, SourceError> {
    let start = tar::first_bytes(&file, detect::NEEDED).map_err(cannot("read", path))?;
    match detect(&start) {
        Looks::Image => Ok(Opened::Image(file)),
        Looks::SquashFs => {
            let device = FileDevice::new(file).map_err(cannot("read", path))?;
            squashfs(device, path, options).map(Opened::Source)
        }
        _ => archive(file, path, options).map(Opened::Source),
    }
}

/// Reads what is sent from start to end. What is read at any position is copied to a file, an image while it is read.
pub(crate) fn stream(
    mut from: impl Read + Send + 'static,
    path: &Path,
    options: &Options,
) -> Result<Opened, SourceError> {
    let mut start = vec![0; START];
    let got = tar::fill(&mut from, &mut start).map_err(cannot("read", path))?;
    start.truncate(got);
    let looks = detect(start.get(..detect::NEEDED).unwrap_or(&start));
    let expected = image_size(&start).filter(|_| looks == Looks::Image);
    let whole = Cursor::new(start).chain(from);
    if let Some(size) = expected {
        let spool = spool_file(&options.spool_dir)?;
        let device = ArrivingDevice::new(whole, spool, size).map_err(cannot("read", path))?;
        return Ok(Opened::Arriving(device));
    }
    match looks {
        Looks::Image | Looks::SquashFs => {
            seekable(spooled(whole, path, &options.spool_dir)?, path, options)
        }
        Looks::Zip => {
            let file = spooled(whole, path, &options.spool_dir)?;
            zip::file(file, path, options).map(Opened::Source)
        }
        _ => archive_stream(whole, path, options).map(Opened::Source),
    }
}

/// A file without a name for what a stream has.
fn spool_file(dir: &Path) -> Result<File, SourceError> {
    tempfile::tempfile_in(dir).map_err(|source| SourceError::Spool { dir: dir.to_owned(), source })
}

/// Bytes of an image that starts so; `None`: its superblock is damaged.
fn image_size(start: &[u8]) -> Option<u64> {
    let superblock = start.get(usize::try_from(SUPERBLOCK_POSITION).ok()?..)?;
    let superblock = Superblock::parse(superblock).ok()?;
    superblock.blocks.checked_mul(superblock.block.size().into())
}

/// Copies a stream to a file without a name in a directory, whose position is its start. `path` is the stream's name in errors.
///
/// # Errors
/// [`SourceError`] if the stream can't be read, or the file can't be written.
pub fn spooled(mut from: impl Read, path: &Path, dir: &Path) -> Result<File, SourceError> {
    let cannot_write = |source| SourceError::Spool { dir: dir.to_owned(), source };
    let mut file = spool_file(dir)?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let got = tar::fill(&mut from, &mut buffer).map_err(cannot("read", path))?;
        io::Write::write_all(&mut file, buffer.split_at(got).0).map_err(cannot_write)?;
        if got < buffer.len() {
            file.seek(SeekFrom::Start(0)).map_err(cannot_write)?;
            return Ok(file);
        }
    }
}
