//! Who clears away the mount of a server that died?

use std::{
    io::{self, Read},
    path::Path,
};

use crate::unmount::{is_dead, unmount};

/// Waits until `alive` ends, which a server keeps open as long as it runs, and then unmounts what it left behind at
/// `directory`.
///
/// # Errors
/// What unmounting says.
pub fn watch(mut alive: impl Read, directory: &Path) -> io::Result<()> {
    // Whatever ends the waiting, the server is gone or out of sight.
    let _ = io::copy(&mut alive, &mut io::sink());
    if is_dead(directory) { unmount(directory, true) } else { Ok(()) }
}
