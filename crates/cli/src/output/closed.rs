//! Notices that standard output was closed when the program started.
//!
//! Before `main`, the standard library opens `/dev/null` in place of a closed standard output, and what is written would be
//! lost without an error.
#![expect(unsafe_code, reason = "nothing else runs before the standard library's own start")]

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    io::{Errno, fcntl_getfd},
    stdio::stdout,
};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the C library calls each function in this section once before `main`, in the only thread. This one asks for the flags
// of a descriptor and sets an atomic variable, which need nothing of the standard library.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    WAS_CLOSED.store(fcntl_getfd(stdout()).is_err(), Ordering::Relaxed);
}

/// Fails as writing would, if standard output was closed from the start.
pub(crate) fn check_open() -> io::Result<()> {
    if WAS_CLOSED.load(Ordering::Relaxed) { Err(Errno::BADF.into()) } else { Ok(()) }
}
