//! Defines [`Builder`]: one build of an image, from its source to the file that it is in.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
};

use lith_builder::{Context, Options};
use lith_observer::Observer;
use lith_source::{Note, Source};

use crate::{
    Adjust,
    build::{Error, Job, make},
};

/// A finished image.
#[derive(Debug)]
#[non_exhaustive]
pub struct Built {
    /// Facts about the image.
    pub report: lith_builder::Report,
    /// What the source has and the image lacks.
    pub notes: Vec<Note>,
}

/// One build of an image.
///
/// The image is written to a file without a name, read back and compared with its source, and only then named: after
/// any failure the file that was at its path is still there.
#[must_use = "nothing is built before `build_to`"]
pub struct Builder<'a> {
    source: Source,
    options: Options,
    job: Job<'a>,
    memory: usize,
}

impl<'a> Builder<'a> {
    /// Builds from a source that is open already, or a tree made by the program.
    pub fn source(source: Source) -> Self {
        let job = Job {
            adjust: Adjust::default(),
            blob: None,
            offset: 0,
            verify: true,
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            memory: 0,
            observer: &(),
        };
        let options = Options::uncompressed();
        Self { source, options, job, memory: Context::DEFAULT_MEMORY }
    }

    /// Changes what kind of image is built.
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Replaces owners and times of the source.
    pub fn adjust(mut self, adjust: Adjust) -> Self {
        self.job.adjust = adjust;
        self
    }

    /// Stores chunks in a file at `path`, a device of its own, instead of the image. That takes files in chunks.
    pub fn blob(mut self, path: impl Into<PathBuf>) -> Self {
        self.job.blob = Some(path.into());
        self
    }

    /// Starts the image at this byte of its file. What precedes it there stays.
    pub const fn offset(mut self, bytes: u64) -> Self {
        self.job.offset = bytes;
        self
    }

    /// Whether the image is read back and compared with its source, as it is by default.
    pub const fn verify(mut self, verify: bool) -> Self {
        self.job.verify = verify;
        self
    }

    /// Threads that read and compress. By default there is one for each core.
    pub const fn workers(mut self, workers: NonZeroUsize) -> Self {
        self.job.workers = workers;
        self
    }

    /// Bytes of memory to use, apart from some hundred for each file: 200 MiB by default.
    pub const fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Reports progress to `observer`, which can cancel the build.
    pub const fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.job.observer = observer;
        self
    }

    /// Builds the image at `path`, in the place of a file that is there.
    ///
    /// # Errors
    /// [`Error`] names the cause; the file at `path` is unchanged then.
    pub fn build_to(mut self, path: impl AsRef<Path>) -> Result<Built, Error> {
        let notes = std::mem::take(&mut self.source.notes);
        let job = Job { memory: self.memory, ..self.job };
        let report = make(self.source, path.as_ref(), &self.options, &job)?;
        Ok(Built { report, notes })
    }
}
