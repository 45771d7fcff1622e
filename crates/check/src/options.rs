//! How far is an image examined, and how is that watched?

use std::{num::NonZeroUsize, sync::atomic::AtomicU64, thread};

use lith_format::addr::Nid;

/// How an image is examined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Read and decode all data; else only what says where it is.
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
    /// Everything, with a thread for each core.
    fn default() -> Self {
        let workers = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { data: true, workers, max_findings: 1000, checksum: true, start: None }
    }
}

/// How far the work is, for others to look at while it goes on.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of data read or decoded.
    pub bytes: AtomicU64,
    /// Bytes of data in all; 0 until it is known.
    pub total: AtomicU64,
}
