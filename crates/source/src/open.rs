//! Opens a path of any type: a directory, an archive, a SquashFS image or an image.

use std::{
    fs::File,
    io::{self, Cursor, Read, Seek, SeekFrom},
    path::Path,
};

use lith_device::{ArrivingDevice, FileDevice};
use lith_format::superblock::{SUPERBLOCK_POSITION, Superblock};

#[cfg(feature = "remote")]
use crate::remote;
use crate::{
    Data, Options, Source, SourceError, archive, archive_stream,
    detect::{self, Looks, detect},
    directory,
    error::cannot,
    oci, squashfs, tar, zip,
};

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

/// Reads the directory, tar, cpio archive or SquashFS image at `path`, or returns the image there. `-` is what standard input has. An
/// image, a SquashFS image or a zip archive that comes from a pipe is copied to a file without a name in the options' `spool_dir`, an
/// image while it is read;
/// `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `docker-archive:FILE[:TAG]` and `docker://HOST/REPOSITORY:TAG` are container images. With the feature
/// `remote`, addresses are opened too.
///
/// # Errors
/// [`SourceError`] names the file that can't be read, and the cause.
pub fn open(path: &Path, options: &Options) -> Result<Opened, SourceError> {
    if let Some(read) = oci::container(path, options) {
        return read.map(Opened::Source);
    }
    #[cfg(feature = "remote")]
    if lith_remote::is_address(path.as_os_str().as_encoded_bytes()) {
        return remote::open(path, options);
    }
    if path == Path::new("-") {
        let file = lith_system::standard_input().map_err(cannot("open", path))?;
        return read_file(file, path, options);
    }
    // Opening a FIFO waits for a writer, so the type is determined without opening.
    let metadata = path.metadata().map_err(cannot("open", path))?;
    if metadata.is_dir() {
        return directory(path, options).map(Opened::Source);
    }
    read_file(File::open(path).map_err(cannot("open", path))?, path, options)
}

fn read_file(file: File, path: &Path, options: &Options) -> Result<Opened, SourceError> {
    if lith_system::is_pipe(&file).map_err(cannot("read the attributes", path))? {
        piped(file, path, options)
    } else {
        seekable(file, path, options)
    }
}

/// Reads what a file or block device has.
fn seekable(file: File, path: &Path, options: &Options) -> Result<Opened, SourceError> {
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

/// Reads what a pipe has.
fn piped(file: File, path: &Path, options: &Options) -> Result<Opened, SourceError> {
    if options.raw_copy.is_some() || options.data != Data::Take {
        return archive(file, path, options).map(Opened::Source);
    }
    stream(file, path, options)
}

/// Reads what is sent from start to end. What is read at any position is copied to a file, an image while it is read.
pub(crate) fn stream(
    mut from: impl Read + Send + 'static,
    path: &Path,
    options: &Options,
) -> Result<Opened, SourceError> {
    let mut start = vec![0; detect::NEEDED];
    let got = tar::fill(&mut from, &mut start).map_err(cannot("read", path))?;
    start.truncate(got);
    let looks = detect(&start);
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
