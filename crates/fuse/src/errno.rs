//! Converts errors to error numbers.

use fuser::Errno;
use lith_reader::Error;

/// The number that the kernel's EROFS returns for the same error.
pub(crate) fn of(error: &Error) -> Errno {
    Errno::from_i32(error.errno())
}
