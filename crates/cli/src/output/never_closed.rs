//! Takes standard output as it is, on systems where nobody looks at it before the standard library does.

use std::io;

#[expect(clippy::unnecessary_wraps, reason = "on Linux it may fail")]
pub(crate) fn check_open() -> io::Result<()> {
    Ok(())
}
