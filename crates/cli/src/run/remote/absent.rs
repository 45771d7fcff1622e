//! What a program without this feature says about addresses.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use lith::{device::ReadAt, source};

use crate::{args::remote::Keep, output::error::Place};

pub(in crate::run) fn open(path: &Path, _keep: &Keep) -> anyhow::Result<Box<dyn ReadAt>> {
    anyhow::bail!("{}: this program was built without images on servers", Place(path))
}

pub(in crate::run) fn prepare(
    path: &Path,
    keep: &Keep,
    _opened: Option<&str>,
) -> anyhow::Result<()> {
    open(path, keep).map(drop)
}

pub(in crate::run) fn opened_as(_path: &Path) -> Option<String> {
    None
}

pub(in crate::run) fn further(_path: &Path) -> anyhow::Result<Option<Vec<Box<dyn ReadAt>>>> {
    Ok(None)
}

pub(in crate::run) const fn sends_all(_error: &anyhow::Error) -> bool {
    false
}

#[expect(clippy::unnecessary_wraps, reason = "with the feature it may fail")]
pub(in crate::run) fn change(_keep: &Keep) -> anyhow::Result<impl FnOnce(&mut source::Options)> {
    Ok(|_read: &mut source::Options| {})
}

pub(in crate::run) fn read_ahead(_path: &Path, _offset: u64, _ranges: Vec<Range<u64>>) {}

pub(in crate::run) fn folders(_keep: &Keep) -> Vec<PathBuf> {
    Vec::new()
}
