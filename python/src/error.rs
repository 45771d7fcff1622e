//! Turns the library's errors into Python's exceptions.

use std::{error::Error, io, path::Path};

use lith::{reader, remote::RemoteError};
use pyo3::{PyTypeInfo, exceptions::PyOSError, prelude::*, types::PyType};

/// The exception for an error of reading an image: a subclass of `OSError` with the path concerned.
pub(crate) fn of_reader(py: Python<'_>, error: &reader::Error, path: &Path) -> PyErr {
    let errno = error.errno();
    let class = match errno {
        libc::EUCLEAN | libc::EBADMSG => "CorruptImageError",
        libc::EOPNOTSUPP => "UnsupportedImageError",
        libc::EINVAL if matches!(error, reader::Error::Open { .. }) => "NotAnImageError",
        _ => return os_error(py, errno, &plain(error), path),
    };
    new(py, class, (errno, chain(error), path.as_os_str()))
}

/// The exception for an error of building, comparing or checking: an `OSError` if the operating system or an image is the
/// cause, otherwise `lith.Error`.
pub(crate) fn of_work(py: Python<'_>, error: &(dyn Error + 'static), path: &Path) -> PyErr {
    let mut next = Some(error);
    while let Some(cause) = next {
        let of_image = match cause.downcast_ref() {
            Some(lith::Error::Read(cause)) => Some(cause),
            _ => cause.downcast_ref::<reader::Error>(),
        };
        if let Some(cause) = of_image {
            return of_reader(py, cause, path);
        }
        if let Some(cause) = cause.downcast_ref() {
            return os_error(py, of_server(cause), &chain(error), path);
        }
        let number = cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        if let Some(number) = number {
            return os_error(py, number, &chain(error), path);
        }
        next = cause.source();
    }
    new(py, "Error", (chain(error),))
}

/// The number for what happens with a server.
fn of_server(error: &RemoteError) -> i32 {
    match error {
        RemoteError::Address(_) => libc::EINVAL,
        RemoteError::Refused { status, .. } => match status.get(..3) {
            Some("404" | "410") => libc::ENOENT,
            Some("401" | "403") => libc::EACCES,
            _ => libc::EIO,
        },
        RemoteError::Unreachable { source, .. } => match source.kind() {
            io::ErrorKind::TimedOut => libc::ETIMEDOUT,
            io::ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
            _ => source.raw_os_error().unwrap_or(libc::EHOSTUNREACH),
        },
        _ => libc::EIO,
    }
}

/// An `OSError` of the subclass that belongs to the number.
pub(crate) fn os_error(py: Python<'_>, errno: i32, text: &str, path: &Path) -> PyErr {
    // The call chooses the subclass, as `FileNotFoundError`.
    match PyOSError::type_object(py).call1((errno, text, path.as_os_str())) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// An exception of the package.
fn new<'py>(py: Python<'py>, class: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let module = py.import("lith._errors");
    let class = module.and_then(|module| Ok(module.getattr(class)?.cast_into::<PyType>()?));
    match class.and_then(|class| class.call1(arguments)) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// What the operating system says for the errors that it has too, so that Python's text is the usual one.
fn plain(error: &reader::Error) -> String {
    let text = match error {
        reader::Error::NotFound { .. } => "No such file or directory",
        reader::Error::NotADirectory { .. } => "Not a directory",
        reader::Error::TooManySymlinks { .. } => "Too many levels of symbolic links",
        reader::Error::Open { source: reader::OpenError::File(source), .. } => {
            return source.raw_os_error().map_or_else(|| source.to_string(), words);
        }
        _ => return chain(error),
    };
    text.to_owned()
}

/// The words for an error number, without the number.
fn words(errno: i32) -> String {
    let text = io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// An error with all its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
