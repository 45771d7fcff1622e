//! Mounts images by FUSE (`lith.mount`).

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use lith::mount::{Options, Unmounter};
use pyo3::prelude::*;

use crate::{error::of_work, image::Image};

/// A mounted image, served by threads of this process.
#[pyclass(frozen, module = "lith._lith")]
pub(crate) struct Mount {
    directory: PathBuf,
    unmounter: Unmounter,
    /// `None`: it is unmounted.
    server: Mutex<Option<JoinHandle<()>>>,
}

#[pymethods]
impl Mount {
    #[new]
    fn new(image: &Bound<'_, Image>, directory: PathBuf) -> PyResult<Self> {
        let py = image.py();
        let image = image.get().image(py)?;
        let mounted = py.detach(|| image.mount(&directory, &Options::default()));
        let mounted = mounted.map_err(|error| of_work(py, &error, &directory))?;
        let unmounter = mounted.unmounter();
        let server = thread::Builder::new().name("lith-mount".to_owned()).spawn(move || {
            // Nobody waits for it, and who reads files gets the errors.
            let _ = mounted.serve();
        });
        let server = server.map_err(|error| of_work(py, &error, &directory))?;
        Ok(Self { directory, unmounter, server: Mutex::new(Some(server)) })
    }

    /// Where it is mounted.
    #[getter]
    fn directory(&self) -> &PathBuf {
        &self.directory
    }

    /// Unmounts it, and waits until it is no longer served. With `lazy` also if it is in use.
    #[pyo3(signature = (*, lazy = false))]
    fn unmount(&self, py: Python<'_>, lazy: bool) -> PyResult<()> {
        let Some(server) = self.server().take() else { return Ok(()) };
        let unmounted =
            py.detach(|| if lazy { self.unmounter.detach() } else { self.unmounter.unmount() });
        if let Err(error) = unmounted {
            *self.server() = Some(server);
            return Err(of_work(py, &error, &self.directory));
        }
        // A lazy one is served until its last user is gone.
        if !lazy {
            let _ = py.detach(|| server.join());
        }
        Ok(())
    }
}

impl Mount {
    /// Locked for moments only, with the interpreter's lock.
    fn server(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
