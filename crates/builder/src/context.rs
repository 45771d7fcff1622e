//! Defines [`Context`]: the resources that a build uses and who follows it. None of them changes the image's bytes.

use std::{fs::File, num::NonZeroUsize, path::Path, thread};

use lith_observer::Observer;

/// The resources that a build uses and who follows it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Context<'a> {
    /// Threads that read and compress.
    pub workers: NonZeroUsize,
    /// Bytes of memory to use, encoders included, apart from some hundred for each inode. If there is too little for the
    /// encoders of all workers, fewer work.
    pub memory: usize,
    /// The directory for temporary data that exceeds the memory.
    pub temporary: &'a Path,
    /// The file that chunks are written to instead of the image, empty like it: a device of its own, which readers of
    /// the image need too. `None`: they are written to the image.
    pub blob: Option<&'a File>,
    /// Follows the build and can cancel it.
    pub observer: &'a dyn Observer,
}

impl<'a> Context<'a> {
    /// Bytes of memory that a build uses by default: most build machines have that much to spare for each job.
    pub const DEFAULT_MEMORY: usize = 200 << 20;

    /// A worker for each core, the default memory, no device for chunks, no observer, and temporary data in `temporary`.
    #[must_use]
    pub fn new(temporary: &'a Path) -> Self {
        Self {
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            memory: Self::DEFAULT_MEMORY,
            temporary,
            blob: None,
            observer: &(),
        }
    }
}
