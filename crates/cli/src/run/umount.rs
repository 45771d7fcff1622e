//! Unmounts an image (`lith umount`).

use std::io;

use anyhow::Context;

use crate::{args::umount::Umount, exit::Outcome, output::error::Place};

pub(crate) fn run(request: &Umount) -> anyhow::Result<Outcome> {
    let directory = request.directory.as_path();
    let unmounted = if request.when_dead {
        // As for the server, whose watcher this is.
        let _ = rustix::thread::set_name(c"lith");
        lith_fuse::watch(io::stdin(), io::stdout(), directory)
    } else {
        lith_fuse::unmount(directory, request.lazy)
    };
    unmounted.with_context(|| format!("{}: cannot unmount", Place(directory)))?;
    Ok(Outcome::Success)
}
