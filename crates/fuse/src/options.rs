//! Defines the options of a mount.

use std::{num::NonZeroUsize, thread, time::Duration};

use crate::backing::ImageFile;

/// The fewest threads: readers of other files must not wait for one that decodes.
const FEWEST_THREADS: usize = 4;

/// How an image is served.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// Threads that answer requests. `None`: two more than there are cores, at least four.
    pub threads: Option<NonZeroUsize>,
    /// Other users than the one who mounts may read the files, as far as their modes permit.
    pub allow_other: bool,
    /// Of other users, only root may read the files.
    pub allow_root: bool,
    /// The owner of all files, instead of those stored in the image.
    pub uid: Option<u32>,
    /// The group of all files, likewise.
    pub gid: Option<u32>,
    /// Unmounts when there was no request for so long and no file is open.
    pub idle: Option<Duration>,
    /// The source in the list of mounts.
    pub source: Option<String>,
    /// Device files are usable.
    pub devices: bool,
    /// Set-user-ID bits take effect.
    pub suid: bool,
    /// Programs can't be executed.
    pub noexec: bool,
    /// Symbolic links are not followed.
    pub nosymfollow: bool,
    /// The kind of filesystem in the list of mounts, after `fuse.`.
    pub subtype: Option<String>,
    /// The most bytes that the kernel reads by one request.
    pub max_read: Option<u32>,
    /// The kernel reads uncompressed files from backing files that share this file's blocks, where that is possible. Each
    /// open of a file is a request then, which it is not otherwise.
    pub passthrough: Option<ImageFile>,
}

impl Options {
    /// The number of threads that answer requests.
    pub(crate) fn threads(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(|| (cores() + 2).max(FEWEST_THREADS), NonZeroUsize::get)
    }
}
