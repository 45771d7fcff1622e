//! How may an image be served?

use std::{num::NonZeroUsize, thread, time::Duration};

use crate::backing::ImageFile;

/// The fewest threads: readers of other files must not wait for one that decodes.
const FEWEST_THREADS: usize = 4;

/// How an image is served.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// Threads that answer requests; none for as many as there are cores and a few.
    pub threads: Option<NonZeroUsize>,
    /// Other users than the one who mounts may see the files, as far as their modes let them.
    pub allow_other: bool,
    /// Of other users, only root may see the files.
    pub allow_root: bool,
    /// The owner of all files, instead of those that the image names.
    pub uid: Option<u32>,
    /// The group of all files.
    pub gid: Option<u32>,
    /// Unmounts when nothing was asked for so long and no file is open.
    pub idle: Option<Duration>,
    /// What the list of mounts shows as the source.
    pub source: Option<String>,
    /// Device files are usable.
    pub devices: bool,
    /// Set-user-ID bits count.
    pub suid: bool,
    /// Programs can't be executed.
    pub noexec: bool,
    /// Symbolic links are not followed.
    pub nosymfollow: bool,
    /// What the list of mounts shows as the kind of filesystem, behind `fuse.`.
    pub subtype: Option<String>,
    /// The most bytes that the kernel asks for at once.
    pub max_read: Option<u32>,
    /// The kernel reads files that are stored as they are from files that share this one's blocks, where it can. Opening
    /// a file then takes a request, which it doesn't otherwise.
    pub passthrough: Option<ImageFile>,
}

impl Options {
    /// How many threads answer requests.
    pub(crate) fn threads(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(|| (cores() + 2).max(FEWEST_THREADS), NonZeroUsize::get)
    }
}
