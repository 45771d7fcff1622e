//! Opens a path of any type: a directory, an archive, a SquashFS image or an image.

use std::{fs::File, path::Path};

#[cfg(feature = "remote")]
use crate::remote;
use crate::{
    Data, Options, SourceError, archive, directory,
    error::cannot,
    oci,
    stream::{Opened, seekable, stream},
};

/// Reads the directory, tar, cpio archive or SquashFS image at `path`, or returns the image there. `-` is what standard input has. An
/// image, a SquashFS image or a zip archive that comes from a pipe is copied to a file without a name in the options' `spool_dir`, the
/// image while it is read; `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `docker-archive:FILE[:TAG]` and `docker://HOST/REPOSITORY:TAG` are
/// container images. With the feature `remote`, addresses are opened too.
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

/// Reads what a pipe has.
fn piped(file: File, path: &Path, options: &Options) -> Result<Opened, SourceError> {
    if options.raw_copy.is_some() || options.data != Data::Take {
        return archive(file, path, options).map(Opened::Source);
    }
    stream(file, path, options)
}
