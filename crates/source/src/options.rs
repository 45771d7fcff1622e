//! How shall a source be read?

use std::{num::NonZeroUsize, path::PathBuf, thread};

use crate::Excludes;

/// What to take from a source, and how. The default takes everything.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which paths to leave out.
    pub exclude: Excludes,
    /// Whether extended attributes are taken at all.
    pub xattrs: bool,
    /// Whether each name of a file with several becomes a file of its own.
    pub dereference_hard_links: bool,
    /// Whether AUFS whiteouts in a tar (`.wh.name`, `.wh..wh..opq`) become overlay whiteouts
    /// (a character device 0:0, the attribute `trusted.overlay.opaque`). Otherwise they stay plain names.
    pub aufs: bool,
    /// The directory for temporary data; best the one that the output goes to.
    pub spool_dir: PathBuf,
    /// How many bytes of temporary data may stay in memory.
    pub spool_memory: usize,
    /// Threads that scan a directory at once.
    pub workers: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            exclude: Excludes::default(),
            xattrs: true,
            dereference_hard_links: false,
            aufs: false,
            spool_dir: PathBuf::from("."),
            spool_memory: 32 << 20,
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}
