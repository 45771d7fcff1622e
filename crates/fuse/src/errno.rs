//! Which error number does the kernel get?

use fuser::Errno;
use lith_reader::Error;

/// The number that the kernel's own EROFS gives for the same fault.
pub(crate) fn of(error: &Error) -> Errno {
    Errno::from_i32(error.errno())
}
