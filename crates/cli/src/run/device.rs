//! Opens the file or device that a path names.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::Context;
use lith::{
    device::{FileDevice, OffsetDevice, ReadAt},
    source,
};
use lith_report::number::Count;

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

/// The first bytes of a device.
pub(super) fn start(path: &Path, device: &dyn ReadAt) -> anyhow::Result<Vec<u8>> {
    let length = source::TYPE_BYTES.min(usize::try_from(device.size()).unwrap_or(usize::MAX));
    let mut bytes = vec![0; length];
    let read = device.read_at(&mut bytes, 0);
    read.with_context(|| format!("{}: cannot read", Place(path)))?;
    Ok(bytes)
}

/// Refuses a file by its first bytes if they are those of another type or too few for an image.
pub(super) fn refuse_other(path: &Path, start: &[u8]) -> anyhow::Result<()> {
    if let Some(found) = source::foreign_type(start) {
        let remedy = match found {
            "a tar" | "a cpio archive" | "a zip archive" | "a SquashFS image" => {
                "; `lith build` makes one of it, `lith ls` lists it"
            }
            "a program" => "; --offset names where an image within it starts",
            _ => "",
        };
        anyhow::bail!("{}: is {found}; expected an EROFS image{remedy}", Place(path));
    }
    if start.len() < source::TYPE_BYTES {
        let bytes = Count(start.len() as u64, "byte");
        anyhow::bail!("{}: is no EROFS image, which has more than {bytes}", Place(path));
    }
    Ok(())
}

/// Refuses a file in which an image starts at `offset` bytes, as [`refuse_other`] does.
pub(super) fn refuse_other_file(path: &Path, offset: u64) -> anyhow::Result<()> {
    let device = OffsetDevice::new(open(path)?, offset);
    refuse_other(path, &start(path, &device)?)
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
