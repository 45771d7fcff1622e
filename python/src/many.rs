//! Reads many ranges of files by several threads.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use lith::reader::{Error, Image};
use pyo3::prelude::*;

use crate::{
    error::{of_reader, os_error},
    path::{find, not_a_file, within},
};

/// A range of a file; without a length it ends with the file.
pub(crate) struct Range {
    pub(crate) path: PathBuf,
    offset: u64,
    length: Option<u64>,
}

impl From<(PathBuf, u64, Option<u64>)> for Range {
    fn from((path, offset, length): (PathBuf, u64, Option<u64>)) -> Self {
        Self { path, offset, length }
    }
}

/// Why a range can't be read.
pub(crate) enum Refusal {
    /// The image's error.
    Image(Error),
    /// It is not a regular file: the error's number and words.
    NotAFile(i32, &'static str),
}

impl Refusal {
    pub(crate) fn into_exception(self, py: Python<'_>, path: &Path) -> PyErr {
        match self {
            Self::Image(error) => of_reader(py, &error, path),
            Self::NotAFile(errno, text) => os_error(py, errno, text, path),
        }
    }
}

/// The bytes of all `ranges`, in their order.
pub(crate) fn read(
    image: &Image,
    ranges: &[Range],
    threads: usize,
) -> Vec<Result<Vec<u8>, Refusal>> {
    let results: Vec<_> = ranges.iter().map(|_| Mutex::new(Ok(Vec::new()))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((range, result)) = take(&next, ranges, &results) {
            *result.lock().unwrap_or_else(PoisonError::into_inner) = read_one(image, range);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(ranges.len()) {
            scope.spawn(work);
        }
        work();
    });
    results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// The next range that no thread has taken, with the place for its result.
fn take<'a, T>(
    next: &AtomicUsize,
    ranges: &'a [Range],
    results: &'a [T],
) -> Option<(&'a Range, &'a T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    ranges.get(index).zip(results.get(index))
}

fn read_one(image: &Image, range: &Range) -> Result<Vec<u8>, Refusal> {
    let inode = find(image, &range.path, true).map_err(Refusal::Image)?;
    if let Some((errno, text)) = not_a_file(&inode) {
        return Err(Refusal::NotAFile(errno, text));
    }
    let (start, length) = within(inode.size, range.offset, range.length);
    let file = image.file(&inode).map_err(Refusal::Image)?;
    file.read_range(start..start + length).map_err(Refusal::Image)
}
