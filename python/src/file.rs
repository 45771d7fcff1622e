//! Defines `File`: the content of one file of an image.

use std::path::PathBuf;

use lith::reader::Inode;
use pyo3::{prelude::*, types::PyBytes};

use crate::{buffer, error::of_reader, image::Image, path::within};

/// The content of a file, read at any position by any number of threads.
#[pyclass(frozen, module = "lith._lith")]
pub(crate) struct File {
    image: Py<Image>,
    inode: Inode,
    path: PathBuf,
}

impl File {
    pub(crate) fn new(image: &Bound<'_, Image>, inode: Inode, path: PathBuf) -> Self {
        Self { image: image.clone().unbind(), inode, path }
    }
}

#[pymethods]
impl File {
    /// Bytes in the file.
    #[getter]
    fn size(&self) -> u64 {
        self.inode.size
    }

    /// Fills a buffer with the bytes from `position` on. Returns how many there were before the end of the file.
    fn readinto_at(&self, buffer: &Bound<'_, PyAny>, position: u64) -> PyResult<usize> {
        let py = buffer.py();
        let image = self.image.get().image(py)?;
        buffer::fill(buffer, |bytes| {
            let (start, length) = within(self.inode.size, position, Some(bytes.len() as u64));
            let length = usize::try_from(length)?;
            let (bytes, _) = bytes.split_at_mut(length);
            let read = py.detach(|| image.file(&self.inode)?.read_at(bytes, start));
            read.map_err(|error| of_reader(py, &error, &self.path))?;
            Ok(length)
        })
    }

    /// The bytes from `position` to the end.
    fn read_from<'py>(&self, py: Python<'py>, position: u64) -> PyResult<Bound<'py, PyBytes>> {
        let image = self.image.get().image(py)?;
        let (start, length) = within(self.inode.size, position, None);
        PyBytes::new_with(py, usize::try_from(length)?, |bytes| {
            let read = py.detach(|| image.file(&self.inode)?.read_at(bytes, start));
            read.map_err(|error| of_reader(py, &error, &self.path))
        })
    }
}
