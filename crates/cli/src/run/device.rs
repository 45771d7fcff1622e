//! Opens the file or device that a path names.

use std::{fs, path::Path};

use anyhow::Context;
use lith::device::{FileDevice, ReadAt};

use super::remote;
use crate::{
    args::remote::Keep,
    output::{address::is_address, error::Place},
};

/// Opens a file or block device for reading; `-` is the file that is standard input.
pub(crate) fn open(path: &Path) -> anyhow::Result<Box<dyn ReadAt>> {
    open_keeping(path, &Keep::Usual)
}

/// As [`open`]; of a web server what is fetched is kept.
pub(super) fn open_keeping(path: &Path, keep: &Keep) -> anyhow::Result<Box<dyn ReadAt>> {
    if is_address(path) {
        return remote::open(path, keep);
    }
    let place = || format!("{}: cannot open", Place(path));
    if path == Path::new("-") {
        let device = lith_system::standard_input().and_then(FileDevice::new);
        let reason =
            "-: standard input is no file; an image is read at any position, so save it first";
        return Ok(Box::new(device.context(reason)?));
    }
    let file = fs::File::open(path).with_context(place)?;
    if file.metadata().with_context(place)?.is_dir() {
        let remedy = "; `lith build` makes one of it";
        anyhow::bail!("{}: is a directory; expected an EROFS image{remedy}", Place(path));
    }
    Ok(Box::new(FileDevice::new(file).with_context(place)?))
}
