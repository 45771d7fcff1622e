//! Defines [`PyDevice`], an image's bytes that a Python object reads: those of a remote file, for example.

use std::io;

use lith::device::{DeviceError, ReadAt};
use pyo3::{prelude::*, types::PyBytes};

/// A Python object with `size`, and a method `read_at(position, length)` that returns so many bytes.
///
/// Its methods are called by threads that hold none of the interpreter's locks, so a reader that waits for another one's
/// bytes never keeps the interpreter from them.
#[derive(Debug)]
pub(crate) struct PyDevice {
    object: Py<PyAny>,
    size: u64,
}

impl PyDevice {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let size = object.getattr("size")?.extract()?;
        Ok(Self { object: object.clone().unbind(), size })
    }

    fn read(&self, buf: &mut [u8], position: u64) -> io::Result<()> {
        Python::attach(|py| {
            let bytes = self.object.call_method1(py, "read_at", (position, buf.len()))?;
            let bytes = bytes.bind(py).cast::<PyBytes>().map_err(PyErr::from)?.as_bytes();
            if bytes.len() != buf.len() {
                let (found, wanted) = (bytes.len(), buf.len());
                let text = format!("{found} bytes were returned in place of {wanted}");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
            }
            buf.copy_from_slice(bytes);
            Ok(())
        })
    }
}

impl ReadAt for PyDevice {
    fn read_at(&self, buf: &mut [u8], position: u64) -> Result<(), DeviceError> {
        let length = buf.len() as u64;
        if position.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(DeviceError::PastEnd { position, length, size: self.size });
        }
        self.read(buf, position).map_err(|source| DeviceError::Io { position, length, source })
    }

    fn size(&self) -> u64 {
        self.size
    }
}
