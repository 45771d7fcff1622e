//! Fills buffers of Python objects without a copy in between. Holds the crate's only unsafe code.
#![expect(unsafe_code, reason = "the interpreter's buffers are known by their addresses")]

use std::slice;

use pyo3::{buffer::PyUntypedBuffer, exceptions::PyBufferError, prelude::*};

/// Lets `fill` write the bytes of `object`, which has the buffer protocol: a `bytearray`, a `memoryview`, an array.
pub(crate) fn fill<T>(
    object: &Bound<'_, PyAny>,
    fill: impl FnOnce(&mut [u8]) -> PyResult<T>,
) -> PyResult<T> {
    let buffer = PyUntypedBuffer::get(object)?;
    if buffer.readonly() || !buffer.is_c_contiguous() {
        return Err(PyBufferError::new_err("the buffer must be writable and contiguous"));
    }
    let length = buffer.len_bytes();
    if length == 0 {
        return fill(&mut []);
    }
    // SAFETY: the exporter keeps these bytes in place as long as `buffer` lives, which is until `fill` returns. That no
    // other thread uses them meanwhile is up to the caller in Python, as with `readinto` of Python's own files.
    let bytes = unsafe { slice::from_raw_parts_mut(buffer.buf_ptr().cast::<u8>(), length) };
    fill(bytes)
}
