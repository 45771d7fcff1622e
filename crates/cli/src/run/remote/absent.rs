//! What a program without this feature says about addresses.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use lith::device::ReadAt;

use crate::{args::remote::Keep, output::error::Place};

pub(in crate::run) fn open(path: &Path, _keep: &Keep) -> anyhow::Result<Box<dyn ReadAt>> {
    anyhow::bail!("{}: this program was built without images on web servers", Place(path))
}

pub(in crate::run) fn read_ahead(_path: &Path, _offset: u64, _ranges: Vec<Range<u64>>) {}

pub(in crate::run) fn folders(_keep: &Keep) -> Vec<PathBuf> {
    Vec::new()
}
