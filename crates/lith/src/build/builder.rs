//! Defines [`Builder`]: one build of an image, from its source to the file that it is in.

use std::{
    io::Read,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
};

use lith_bases::Search;
use lith_builder::{Compression, Context, Files, Options, Preset, Rule};
use lith_codec::Compressor;
use lith_format::kernel::KernelVersion;
use lith_observer::{Observer, Phase};
use lith_source::{Excludes, Note, Source};
use lith_transform::Adjust;

use super::{
    make::{Job, Role, make},
    staged::temporary_directory,
};
use crate::Error;

/// A finished image.
#[derive(Debug)]
#[non_exhaustive]
pub struct Built {
    /// Facts about the image.
    pub report: lith_builder::Report,
    /// What the source has and the image lacks.
    pub notes: Vec<Note>,
}

/// One build of an image: by default the same as the command `lith build` makes.
///
/// The image is written to a file without a name, read back and compared with its source, and only then named: after
/// any failure the file that was at its path is still there.
///
/// ```
/// use lith::{Builder, Preset};
///
/// # let folder = tempfile::tempdir()?;
/// # let (tree, image) = (folder.path().join("tree"), folder.path().join("image.erofs"));
/// # std::fs::create_dir(&tree)?;
/// # std::fs::write(tree.join("file"), "content")?;
/// let built = Builder::directory(&tree).preset(Preset::Fast).exclude("*.o").build_to(&image)?;
/// println!("{} bytes", built.report.image_bytes);
/// # assert_eq!(built.report.files, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is built before `build_to`"]
pub struct Builder<'a> {
    input: Input<'a>,
    choices: Choices<'a>,
    job: Job<'a>,
}

/// A source, and how it is read.
struct Input<'a> {
    from: From<'a>,
    excludes: Vec<String>,
    changes: Vec<Change<'a, lith_source::Options>>,
}

/// What kind of image is built.
struct Choices<'a> {
    preset: Preset,
    kernel: KernelVersion,
    rules: Vec<(String, Option<Compressor>)>,
    changes: Vec<Change<'a, Options>>,
}

type Change<'a, T> = Box<dyn FnOnce(&mut T) + 'a>;

/// What an image is made of.
enum From<'a> {
    Directory(PathBuf),
    Tar(Box<dyn Read + 'a>),
    Source(Source),
}

impl<'a> Builder<'a> {
    /// Bytes of memory that a build uses by default, 200 MiB.
    pub const DEFAULT_MEMORY: usize = Context::DEFAULT_MEMORY;

    /// Builds from the directory at `path`.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self::new(From::Directory(path.into()))
    }

    /// Builds from a tar, compressed or not, of which each byte is read once: a pipe, for example.
    pub fn tar(reader: impl Read + 'a) -> Self {
        Self::new(From::Tar(Box::new(reader)))
    }

    /// Builds from a source that is open already, or a tree made by the program.
    pub fn source(source: Source) -> Self {
        Self::new(From::Source(source))
    }

    fn new(from: From<'a>) -> Self {
        let job = Job {
            adjust: Adjust::default(),
            bases: Vec::new(),
            search: Search::default(),
            role: Role::Searched,
            blob: None,
            offset: 0,
            verify: true,
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            memory: Self::DEFAULT_MEMORY,
            observer: &(),
        };
        let choices = Choices {
            preset: Preset::default(),
            kernel: KernelVersion::DEFAULT,
            rules: Vec::new(),
            changes: Vec::new(),
        };
        let input = Input { from, excludes: Vec::new(), changes: Vec::new() };
        Self { input, choices, job }
    }

    /// Leaves out what matches a glob, with everything below: `*.o` anywhere, `/tmp/*` from the root.
    ///
    /// An error for a [`source`](Self::source), which is read already.
    pub fn exclude(mut self, glob: impl Into<String>) -> Self {
        self.input.excludes.push(glob.into());
        self
    }

    /// Changes how the source is read. An error for a [`source`](Self::source), which is read already.
    pub fn read(mut self, change: impl FnOnce(&mut lith_source::Options) + 'a) -> Self {
        self.input.changes.push(Box::new(change));
        self
    }

    /// Chooses between the time to build, the size, and the time to read. The default is [`Preset::Balanced`].
    pub const fn preset(mut self, preset: Preset) -> Self {
        self.choices.preset = preset;
        self
    }

    /// The oldest kernel that must be able to mount the image; a preset uses only what it reads. The default is
    /// [`KernelVersion::DEFAULT`].
    pub const fn kernel(mut self, kernel: KernelVersion) -> Self {
        self.choices.kernel = kernel;
        self
    }

    /// Compresses the files that match a glob with `compressor`, or stores them uncompressed. The first rule that
    /// matches counts.
    pub fn rule(
        mut self,
        glob: impl Into<String>,
        compressor: impl Into<Option<Compressor>>,
    ) -> Self {
        self.choices.rules.push((glob.into(), compressor.into()));
        self
    }

    /// Changes the options that follow from preset, kernel and rules. Changes are made in the order of their calls.
    pub fn options(mut self, change: impl FnOnce(&mut Options) + 'a) -> Self {
        self.choices.changes.push(Box::new(change));
        self
    }

    /// Replaces owners and times of the source.
    pub const fn adjust(mut self, adjust: Adjust) -> Self {
        self.job.adjust = adjust;
        self
    }

    /// Stores chunks in a file at `path`, a device of its own, instead of the image. That takes files in chunks.
    pub fn blob(mut self, path: impl Into<PathBuf>) -> Self {
        self.job.blob = Some(path.into());
        self
    }

    /// Refers to what the image at `path` holds, and does not store it again: a patch of that image. Readers of the patch
    /// need its bases, which it names.
    pub fn base(mut self, path: impl Into<PathBuf>) -> Self {
        self.job.bases.push(path.into());
        self
    }

    /// The bases are the layers that the source was made of by [`merge`](crate::source::merge), or the one image whose
    /// tree it is: where its files are stored is known without searching.
    pub const fn layers(mut self) -> Self {
        self.job.role = Role::Layers;
        self
    }

    /// As [`Self::layers`], but copies what they hold as it is, and refers to nothing: one image of a patch and its
    /// bases, for example.
    pub const fn copied_layers(mut self) -> Self {
        self.job.role = Role::Copied;
        self
    }

    /// Where the bases of bases are.
    pub fn search(mut self, search: Search) -> Self {
        self.job.search = search;
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

    /// The part of a build's memory that holds temporary data of a source that can be read only once.
    #[must_use]
    pub const fn spool_memory(memory: usize) -> usize {
        memory / 5
    }

    /// Bytes of memory to use, apart from some hundred for each file: 200 MiB by default.
    pub const fn memory(mut self, bytes: usize) -> Self {
        self.job.memory = bytes;
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
    /// [`Error`] names the cause. The file at `path` is unchanged then, unless the error is that the new one is in place and
    /// its directory can't be synced.
    pub fn build_to(self, path: impl AsRef<Path>) -> Result<Built, Error> {
        let Self { input, choices, mut job } = self;
        let path = path.as_ref();
        let options = choices.into_options()?;
        let mut read = lith_source::Options::with(|read| {
            read.spool_dir = temporary_directory(path);
            read.workers = job.workers;
        });
        if let From::Tar(_) = input.from {
            read.spool_memory = Builder::spool_memory(job.memory);
            job.memory -= read.spool_memory;
        }
        job.observer.begin(Phase::Scanning);
        let mut source = input.open(read)?;
        let notes = std::mem::take(&mut source.notes);
        let report = make(source, path, &options, &job)?;
        Ok(Built { report, notes })
    }
}

impl Input<'_> {
    fn open(self, mut read: lith_source::Options) -> Result<Source, Error> {
        read.exclude = Excludes::new(&self.excludes).map_err(Error::Pattern)?;
        let is_changed = !self.changes.is_empty() || !self.excludes.is_empty();
        self.changes.into_iter().for_each(|change| change(&mut read));
        Ok(match self.from {
            From::Source(_) if is_changed => return Err(Error::SourceIsRead),
            From::Source(source) => source,
            From::Directory(path) => lith_source::directory(&path, &read)?,
            From::Tar(reader) => lith_source::tar_stream(reader, Path::new("tar"), &read)?,
        })
    }
}

impl Choices<'_> {
    fn into_options(self) -> Result<Options, Error> {
        let mut options = self.preset.options(self.kernel);
        let files = options.compression.files;
        let compression = |compressor| match files {
            Some(files) => Compression { compressor, ..files },
            None => Compression::new(compressor),
        };
        for (glob, compressor) in self.rules {
            let files = Excludes::new([&glob]).map_err(Error::Pattern)?;
            options.compression.rules.push(Rule {
                files: Files::new(move |path| files.covers(path)),
                compression: compressor.map(compression),
                second: None,
            });
        }
        self.changes.into_iter().for_each(|change| change(&mut options));
        Ok(options)
    }
}
