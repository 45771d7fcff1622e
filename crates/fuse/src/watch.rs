//! Unmounts what a server that died left mounted.

use std::{
    io::{self, Read},
    path::Path,
};

use crate::unmount::{is_dead, unmount};

/// Waits until `alive` ends, which a server keeps open as long as it runs, and then unmounts what it left mounted at
/// `directory`.
///
/// # Errors
/// As [`unmount`].
pub fn watch(mut alive: impl Read, directory: &Path) -> io::Result<()> {
    // However the wait ends, the server is gone or can't be watched any more.
    let _ = io::copy(&mut alive, &mut io::sink());
    if is_dead(directory) { unmount(directory, true) } else { Ok(()) }
}
