//! How is the library used from Python?
//!
//! The module `lith._lith`, on which the package `lith` in `package/` is built: that adds what Python's own library has the
//! parts for, such as buffered files, paths, and a filesystem for fsspec. All work is done without the interpreter's lock.
#![deny(unsafe_code)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments are made of Python's objects for each call"
)]

mod buffer;
mod build;
mod check;
mod device;
mod diff;
mod entry;
mod error;
mod file;
mod image;
mod many;
mod mount;
mod path;
mod remote;
mod spool;
mod task;

/// EROFS images, built and read: see the package `lith`.
#[pyo3::pymodule(gil_used = false)]
mod _lith {
    #[pymodule_export]
    use crate::{
        build::{Built, build_files, build_paths},
        check::{Finding, Report, check},
        diff::{Difference, diff},
        entry::DirEntry,
        file::File,
        image::Image,
        mount::Mount,
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::image::follow_forks(module.py())
    }
}
