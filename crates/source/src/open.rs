//! Opens a path of any type: a directory, an archive, a SquashFS image or an image.

use std::{fs::File, path::Path};

use lith_device::FileDevice;

#[cfg(feature = "remote")]
use crate::remote;
use crate::{
    Options, Source, SourceError, archive,
    detect::{self, Looks, detect},
    directory,
    error::cannot,
    oci, squashfs, tar,
};

/// What is at a path.
#[derive(Debug)]
pub enum Opened {
    /// A directory, tar, cpio archive or SquashFS image, read.
    Source(Source),
    /// A file that starts as an EROFS image does, not read yet.
    Image(File),
    /// The same on a server.
    #[cfg(feature = "remote")]
    RemoteImage(lith_remote::RemoteDevice),
}

/// Reads the directory, tar, cpio archive or SquashFS image at `path`, or returns the image there. `-` is an archive on standard input;
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
        return Ok(match remote::open(path, options)? {
            remote::Fetched::Source(source) => Opened::Source(source),
            remote::Fetched::Image(device) => Opened::RemoteImage(device),
        });
    }
    if path == Path::new("-") {
        let file = lith_system::standard_input().map_err(cannot("open", path))?;
        return archive(file, path, options).map(Opened::Source);
    }
    // Opening a FIFO waits for a writer, so the type is determined without opening.
    let metadata = path.metadata().map_err(cannot("open", path))?;
    if metadata.is_dir() {
        return directory(path, options).map(Opened::Source);
    }
    let file = File::open(path).map_err(cannot("open", path))?;
    if metadata.is_file() || lith_system::is_block_device(metadata.file_type()) {
        let start = tar::first_bytes(&file, detect::NEEDED).map_err(cannot("read", path))?;
        match detect(&start) {
            Looks::Image => return Ok(Opened::Image(file)),
            Looks::SquashFs => {
                let device = FileDevice::new(file).map_err(cannot("read", path))?;
                return squashfs(device, path, options).map(Opened::Source);
            }
            _ => {}
        }
    }
    archive(file, path, options).map(Opened::Source)
}
