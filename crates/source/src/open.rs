//! What lies at a path, and how does it become a tree?

use std::{fs::File, io, os::fd::AsFd, os::unix::fs::FileTypeExt, path::Path};

use crate::{
    Options, Source, SourceError,
    detect::{self, Looks, detect},
    directory, tar,
};

/// What was found at a path.
#[derive(Debug)]
pub enum Opened {
    /// A directory or tar, read.
    Source(Source),
    /// A file that begins as an EROFS image does, not yet read.
    Image(File),
}

/// Reads the directory or tar at `path`, or says that an image lies there. `-` is a tar on standard
/// input.
///
/// # Errors
/// [`SourceError`] names the file that could not be read and why.
pub fn open(path: &Path, options: &Options) -> Result<Opened, SourceError> {
    if path == Path::new("-") {
        let file = standard_input().map_err(cannot("open", path))?;
        return tar(file, path, options).map(Opened::Source);
    }
    // A FIFO is opened only when somebody writes to it, so directories are told without that.
    let metadata = path.metadata().map_err(cannot("open", path))?;
    if metadata.is_dir() {
        return directory(path, options).map(Opened::Source);
    }
    let file = File::open(path).map_err(cannot("open", path))?;
    if metadata.is_file() || metadata.file_type().is_block_device() {
        let start = tar::first_bytes(&file, detect::NEEDED).map_err(cannot("read", path))?;
        if detect(&start) == Looks::Image {
            return Ok(Opened::Image(file));
        }
    }
    tar(file, path, options).map(Opened::Source)
}

fn standard_input() -> io::Result<File> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Makes the error for an action on a path that the operating system refused.
pub(crate) fn cannot(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> SourceError + use<> {
    let path = path.to_owned();
    move |source| SourceError::Io { path, action, source }
}
