//! Compares trees of any kind (`lith.diff`).

use std::{
    ffi::OsString, num::NonZeroUsize, os::unix::ffi::OsStringExt, path::Path, path::PathBuf,
    sync::Arc, thread,
};

use lith::{
    Opened,
    bases::Search,
    reader,
    source::{self, Source},
    tree::{self, Aspects, Change, DiffOptions},
};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{error::of_work, remote, task};

/// A difference between two trees.
#[pyclass(frozen, get_all, module = "lith._lith")]
pub(crate) struct Difference {
    /// The path from the root, with a leading slash.
    path: OsString,
    /// What differs: `presence`, `type`, `mode`, `uid`, `gid`, `mtime`, `nlink`, `links`, `rdev`, `target`, `size`,
    /// `content` or `xattr`.
    what: &'static str,
    text: String,
}

#[pymethods]
impl Difference {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Difference {}>", self.text)
    }
}

impl From<&tree::Difference> for Difference {
    fn from(difference: &tree::Difference) -> Self {
        let path = [b"/", &*difference.path].concat();
        let path = OsString::from_vec(path);
        Self { path, what: what(&difference.change), text: difference.to_string() }
    }
}

const fn what(change: &Change) -> &'static str {
    match change {
        Change::Missing | Change::Added => "presence",
        Change::Kind(..) => "type",
        Change::Permissions(..) => "mode",
        Change::Uid(..) => "uid",
        Change::Gid(..) => "gid",
        Change::Mtime(..) => "mtime",
        Change::Nlink(..) => "nlink",
        Change::Links(..) => "links",
        Change::Rdev(..) => "rdev",
        Change::Target(..) => "target",
        Change::Size(..) => "size",
        Change::Content { .. } => "content",
        Change::XattrMissing(_) | Change::XattrAdded(_) | Change::XattrValue { .. } => "xattr",
    }
}

/// The differences between two folders, tars or images, by path; those of `ignore` are left out.
#[pyfunction]
#[pyo3(signature = (a, b, *, ignore = Vec::new()))]
pub(crate) fn diff(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    ignore: Vec<String>,
) -> PyResult<Vec<Difference>> {
    let ignore = ignore.iter().map(|name| aspect(name)).collect::<PyResult<Aspects>>()?;
    let options = DiffOptions::with(|options| {
        options.ignore = ignore;
        options.workers = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    });
    let mut differences = Vec::new();
    let found = &mut differences;
    let result = task::run(py, |progress| {
        let (left, right) = (open(&a)?, open(&b)?);
        let mut visit = |difference: tree::Difference| found.push(Difference::from(&difference));
        let compared =
            tree::diff(left.filesystem(), right.filesystem(), &options, progress, &mut visit);
        compared.map_err(|error| (Box::new(error) as Failure, a.clone()))
    })?;
    result.map_err(|(error, path)| of_work(py, &*error, &path))?;
    Ok(differences)
}

fn aspect(name: &str) -> PyResult<Aspects> {
    match name {
        "mode" => Ok(Aspects::PERMISSIONS),
        "owner" => Ok(Aspects::OWNERS),
        "mtime" => Ok(Aspects::MTIME),
        "links" => Ok(Aspects::LINKS),
        "xattrs" => Ok(Aspects::XATTRS),
        "content" => Ok(Aspects::CONTENT),
        _ => {
            let known = "mode, owner, mtime, links, xattrs or content";
            Err(PyValueError::new_err(format!("{name:?} can't be ignored; expected {known}")))
        }
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The tree at a path.
fn open(path: &Path) -> Result<Source, (Failure, PathBuf)> {
    let opened = try_open(path);
    opened.map_err(|error| (Box::new(error) as Failure, path.to_owned()))
}

fn try_open(path: &Path) -> Result<Source, lith::Error> {
    let options = source::Options::with(|options| {
        options.spool_dir = std::env::temp_dir();
        options.remote = remote::options(None);
    });
    match lith::open(path, &Search::default(), &options, reader::Options::default())? {
        Opened::Tree(source) => Ok(source),
        Opened::Image(image) => Ok(source::image(Arc::from(image), path, &options)?),
    }
}
