//! Opens the file or device that a path names.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::Context;
use lith::{
    device::{FileDevice, ReadAt},
    source,
};

use super::remote;
use crate::{
    args::remote::Keep,
    output::{address::is_address, error::Place},
};

/// Opens a file or block device for reading; `-` is standard input. What a pipe has is copied to a file.
pub(crate) fn open(path: &Path) -> anyhow::Result<Box<dyn ReadAt>> {
    open_keeping(path, &Keep::Usual)
}

/// As [`open`]; of a web server what is fetched is kept.
pub(super) fn open_keeping(path: &Path, keep: &Keep) -> anyhow::Result<Box<dyn ReadAt>> {
    if is_address(path) {
        return remote::open(path, keep);
    }
    let place = || format!("{}: cannot open", Place(path));
    if is_pipe(path) {
        return Ok(Box::new(FileDevice::new(piped(path)?).with_context(place)?));
    }
    let file = if path == Path::new("-") {
        lith_system::standard_input().with_context(place)?
    } else {
        File::open(path).with_context(place)?
    };
    if file.metadata().with_context(place)?.is_dir() {
        let remedy = "; `lith build` makes one of it";
        anyhow::bail!("{}: is a directory; expected an EROFS image{remedy}", Place(path));
    }
    Ok(Box::new(FileDevice::new(file).with_context(place)?))
}

/// Whether a path leads to what is read once, from start to end.
pub(super) fn is_pipe(path: &Path) -> bool {
    if path == Path::new("-") {
        let file = lith_system::standard_input();
        return file.and_then(|file| lith_system::is_pipe(&file)).unwrap_or(false);
    }
    // Opening a FIFO waits for a writer.
    fs::metadata(path).is_ok_and(|found| {
        !found.is_file() && !found.is_dir() && !lith_system::is_block_device(found.file_type())
    })
}

/// Refuses a pipe where a verb opens the image more than once.
pub(super) fn refuse_pipe(path: &Path) -> anyhow::Result<()> {
    if is_pipe(path) {
        anyhow::bail!("{}: is a pipe, and read more than once; save it to a file", Place(path));
    }
    Ok(())
}

/// What a pipe had, in a file without a name. A pipe is empty afterwards, so the file is kept for who opens it again.
fn piped(path: &Path) -> anyhow::Result<File> {
    static KEPT: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let place = || format!("{}: cannot open", Place(path));
    if let Some((_, file)) = kept.iter().find(|(known, _)| known == path) {
        return file.try_clone().with_context(place);
    }
    let pipe =
        if path == Path::new("-") { lith_system::standard_input() } else { File::open(path) };
    let file = source::spooled(pipe.with_context(place)?, path, &std::env::temp_dir())?;
    kept.push((path.to_owned(), file.try_clone().with_context(place)?));
    Ok(file)
}
