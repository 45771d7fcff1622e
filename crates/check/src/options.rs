//! Defines [`Options`]: how far an image is examined.

use std::{num::NonZeroUsize, thread};

use lith_format::addr::Nid;

/// How an image is examined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Read and decode all data; otherwise only metadata.
    pub data: bool,
    /// Threads.
    pub workers: NonZeroUsize,
    /// The most findings that are kept.
    pub max_findings: usize,
    /// Verify the superblock's checksum.
    pub checksum: bool,
    /// Examine only this inode and, if it is a directory, all that is below it. Paths begin there.
    pub start: Option<Nid>,
}

impl Default for Options {
    /// Examines everything, with a thread for each core.
    fn default() -> Self {
        let workers = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { data: true, workers, max_findings: 1000, checksum: true, start: None }
    }
}
