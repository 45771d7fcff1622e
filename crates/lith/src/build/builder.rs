//! Defines [`Builder`]: one build of an image, from its source to the file that it is in.

use std::{
    env,
    io::{self, Read, Seek, Write},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use lith_bases::{Identity, Search};
use lith_builder::{BuildError, Compression, Context, Files, Options, Preset, Rule};
use lith_codec::Compressor;
use lith_format::kernel::{Capability, KernelVersion};
use lith_observer::{Observer, Phase};
use lith_profile::{Hint, Hot};
use lith_source::{Excludes, Note, OnError, Source};
use lith_transform::{Adjust, Setting, Unmatched};
use lith_tree::Tree;

use super::{
    input::{Change, From, Input},
    make::{BasesAt, Job, Made, NewerBases, Role, make},
    protection::{HashTree, Protection},
    replaceable::is_replaceable,
    staged::{Staged, temporary_directory},
    unmatched::unmatched_rules,
};
use crate::{Error, composefs, provenance::Recipe};

/// A finished image.
#[derive(Debug)]
#[non_exhaustive]
pub struct Built {
    /// Facts about the image.
    pub report: lith_builder::Report,
    /// What the source has and the image lacks.
    pub notes: Vec<Note>,
    /// Patterns of excludes and rules that matched nothing.
    pub unmatched: Vec<Unmatched>,
    /// The hash tree, if the image is protected by one.
    pub hash_tree: Option<HashTree>,
    /// Paths of profiles and lists that the source lacks.
    pub missing: Vec<Vec<u8>>,
    /// How many files the image refers to, or was copied of: its bases, and theirs.
    pub bases: usize,
    /// These files, in the order in which the image has them as devices, or in which they follow it.
    pub base_paths: Vec<PathBuf>,
    /// What these need and the kernel lacked for which the image was to be, if that was [raised](Builder::raise_kernel).
    pub lacking: Vec<Capability>,
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
    edits: Vec<Edit<'a>>,
    settings: Vec<Setting>,
    /// Where the content of files is stored instead of the image.
    store: Option<composefs::Store>,
    job: Job<'a>,
}

type Edit<'a> =
    Box<dyn FnOnce(&mut Tree) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a>;

/// What kind of image is built.
struct Choices<'a> {
    preset: Preset,
    kernel: KernelVersion,
    rules: Vec<(String, Option<Compressor>)>,
    changes: Vec<Change<'a, Options>>,
}

impl<'a> Builder<'a> {
    /// Bytes of memory that a build uses by default, 200 MiB.
    pub const DEFAULT_MEMORY: usize = Context::DEFAULT_MEMORY;

    /// Builds from the directory at `path`.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self::paths([path.into()], Search::default())
    }

    /// Builds from directories, tars and images, whichever each path leads to. Of several, each is a layer on top of the one
    /// before, as overlayfs has them; `-` is a tar on standard input. `search` is where further devices of images are.
    pub fn paths(paths: impl IntoIterator<Item = PathBuf>, search: Search) -> Self {
        let paths = paths.into_iter().collect();
        Self::new(From::Layers { paths, search })
    }

    /// Builds from a list of files, as [`dump`](crate::tree::dump()), composefs or mtree(5) write it: names, owners, modes and
    /// devices are those of the list; the content of files is in the directory `folder`, or where the list says.
    pub fn manifest(list: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self::new(From::Manifest(list.into(), folder.into()))
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
            most_bases: usize::MAX,
            bases_at: BasesAt::Devices,
            role: Role::Searched,
            newer_bases: NewerBases::Refuse,
            hints: Arc::default(),
            blob: None,
            protection: None,
            offset: 0,
            force: false,
            on_error: OnError::default(),
            strict: false,
            composefs: None,
            recipe: None,
            verify: true,
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            memory: None,
            observer: &(),
        };
        let choices = Choices {
            preset: Preset::default(),
            kernel: KernelVersion::DEFAULT,
            rules: Vec::new(),
            changes: Vec::new(),
        };
        let (input, edits, settings) = (Input::new(from), Vec::new(), Vec::new());
        Self { input, choices, edits, settings, store: None, job }
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

    /// Changes the tree of the source, before [`adjust`](Self::adjust). Changes are made in the order of their calls; an error
    /// ends the build.
    pub fn edit(
        mut self,
        edit: impl FnOnce(&mut Tree) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a,
    ) -> Self {
        self.edits.push(Box::new(edit));
        self
    }

    /// Sets attributes of files that match a pattern, after [`adjust`](Self::adjust). All settings apply, in the order of
    /// their calls.
    pub fn set(mut self, setting: Setting) -> Self {
        self.settings.push(setting);
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
    /// tree it is: where its files are stored is known without searching. Their content is not read, and the image names
    /// them by length and beginning.
    pub const fn layers(mut self) -> Self {
        self.job.role = Role::Layers(Identity::Head);
        self
    }

    /// As [`Self::layers`], but reads all bytes of them, and names them by their digests.
    pub const fn digested_layers(mut self) -> Self {
        self.job.role = Role::Layers(Identity::Whole);
        self
    }

    /// As [`Self::layers`], but copies what they hold as it is, and refers to nothing: one image of a patch and its
    /// bases, for example.
    pub const fn copied_layers(mut self) -> Self {
        self.job.role = Role::Copied;
        self
    }

    /// The bases follow the image on its one device, in the order in which they are named here, each followed by those that
    /// it refers to itself: what `cat` makes of them is an image for kernels that know no further devices. The image alone
    /// can't be read. It is built twice, because its addresses count from its end.
    pub const fn flat(mut self, flat: bool) -> Self {
        self.job.bases_at = if flat { BasesAt::End } else { BasesAt::Devices };
        self
    }

    /// Fails if the image would refer to more files than that, bases of bases included.
    pub const fn max_bases(mut self, most: usize) -> Self {
        self.job.most_bases = most;
        self
    }

    /// Whether the oldest kernel becomes that which bases need, if it is older; otherwise they are refused then.
    pub const fn raise_kernel(mut self, raises: bool) -> Self {
        self.job.newer_bases = if raises { NewerBases::RaiseKernel } else { NewerBases::Refuse };
        self
    }

    /// Where the bases of bases are.
    pub fn search(mut self, search: Search) -> Self {
        self.job.search = search;
        self
    }

    /// Makes a hash tree of dm-verity with the image.
    pub fn protect(mut self, protection: Protection) -> Self {
        self.job.protection = Some(protection);
        self
    }

    /// Stores the content of files in the folder `objects`, each named by its fs-verity digest, and makes an image that refers to
    /// them: overlayfs of Linux puts both together. The image is byte for byte that of mkcomposefs, and so presets, options
    /// and hints don't change it; as with that, each name of a directory's hard links becomes a file of its own. `version`:
    /// `None` is the least one that can express the tree.
    pub fn composefs(
        mut self,
        objects: impl Into<PathBuf>,
        version: impl Into<Option<composefs::Version>>,
    ) -> Self {
        let (objects, version) = (objects.into(), version.into());
        self.store = Some(composefs::Store { objects, version });
        self
    }

    /// Records in the image by what, with these options and of what it is made: see [`Provenance`](crate::provenance). To
    /// compute the digest, the content of the source is read once more.
    pub fn provenance(mut self, recipe: Recipe) -> Self {
        self.job.recipe = Some(recipe);
        self
    }

    /// Stores the image in an order: what is read first comes first. Paths that the source lacks are ignored, see
    /// [`Built::missing`].
    pub fn hints(mut self, hints: impl Into<Arc<[Hint]>>) -> Self {
        self.job.hints = hints.into();
        self
    }

    /// Starts the image at this byte of its file. What precedes it there stays.
    pub const fn offset(mut self, bytes: u64) -> Self {
        self.job.offset = bytes;
        self
    }

    /// What happens if a file can't be read: the build fails, with all of them, or they are left out.
    pub const fn on_error(mut self, on_error: OnError) -> Self {
        self.job.on_error = on_error;
        self
    }

    /// Whether a pattern of an exclude or a rule that matches nothing is an error.
    pub const fn strict(mut self, strict: bool) -> Self {
        self.job.strict = strict;
        self
    }

    /// Whether a file that is neither an EROFS image nor empty is replaced, too.
    pub const fn force(mut self, force: bool) -> Self {
        self.job.force = force;
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

    /// Bytes of memory to use, encoders included, apart from some hundred for each file. If there is too little for the
    /// encoders of all workers, fewer work. The default is [`Self::DEFAULT_MEMORY`], and what the encoders take.
    pub const fn memory(mut self, bytes: usize) -> Self {
        self.job.memory = Some(bytes);
        self
    }

    /// Reports progress to `observer`, which can cancel the build.
    pub const fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.job.observer = observer;
        self
    }

    /// Builds the image at `path`. An image that is there is replaced; the new one has its owner and mode.
    ///
    /// # Errors
    /// [`Error`] names the cause. The file at `path` is unchanged then, unless the error is that the new one is in place and
    /// its directory can't be synced. [`Error::Occupied`] if what is there is no image: see [`force`](Self::force).
    pub fn build_to(self, path: impl AsRef<Path>) -> Result<Built, Error> {
        let path = path.as_ref();
        if !self.job.force {
            let Job { blob, offset, .. } = &self.job;
            refuse_occupied(path, *offset)?;
            blob.as_deref().map_or(Ok(()), |blob| refuse_occupied(blob, 0))?;
        }
        self.build(path, Staged::create)
    }

    /// Builds the image in a temporary file in `$TMPDIR`, or `/tmp`, and then writes it to `output`.
    ///
    /// # Errors
    /// [`Error`] names the cause. Nothing is written unless the image is complete.
    pub fn write_to(self, output: &mut dyn Write) -> Result<Built, Error> {
        let folder = env::temp_dir();
        let failed = |action| {
            let path = folder.clone();
            move |source| Error::Target { path, action, source }
        };
        let mut spool = tempfile::tempfile_in(&folder).map_err(failed("keep the image there"))?;
        let copy = |_path: &Path| spool.try_clone().map(Staged::in_place);
        let built = self.build(&folder.join("image"), copy)?;
        spool.rewind().map_err(failed("read the image there"))?;
        let written = io::copy(&mut spool, output).and_then(|_bytes| output.flush());
        written.map_err(Error::Output)?;
        Ok(built)
    }

    fn build(
        self,
        path: &Path,
        create: impl FnOnce(&Path) -> io::Result<Staged>,
    ) -> Result<Built, Error> {
        let Self { input, choices, edits, settings, store, mut job } = self;
        let options = choices.into_options()?;
        store.as_ref().map_or(Ok(()), |_| refuse_composefs(&job, &options))?;
        let outputs = [path].into_iter().chain(job.blob.as_deref());
        let mut read = lith_source::Options::with(|read| {
            read.spool_dir = temporary_directory(path);
            (read.workers, read.on_error) = (job.workers, job.on_error);
            read.outputs = outputs.map(Path::to_owned).collect();
            read.dereference_hard_links = store.is_some() && input.is_directory();
        });
        if input.may_spool() {
            let memory = job.memory_for(&options);
            read.spool_memory = Builder::spool_memory(memory.min(Self::DEFAULT_MEMORY));
            job.memory = Some(memory - read.spool_memory);
        }
        job.observer.begin(Phase::Scanning);
        let (mut source, mut unmatched) = input.open(read)?;
        edits.into_iter().try_for_each(|edit| edit(&mut source.tree)).map_err(Error::Edit)?;
        job.adjust.apply(&mut source.tree);
        unmatched.extend(settings.iter().filter_map(|setting| setting.apply(&mut source.tree)));
        unmatched.extend(unmatched_rules(&source.tree, &options.compression.rules));
        if job.strict && !unmatched.is_empty() {
            return Err(Error::Unmatched(unmatched));
        }
        if let Some(store) = &store {
            let (packed, version) = composefs::pack(source, store, job.workers)?;
            (source, job.composefs) = (packed, Some(version));
        }
        let missing = Hot::new(&job.hints, &source.tree).missing;
        let mut notes = std::mem::take(&mut source.notes);
        let made = make(&mut source, (path, create), &options, &job)?;
        let Made { report, tree: hash_tree, left_out, bases: base_paths, lacking } = made;
        let bases = base_paths.len();
        notes.extend(left_out);
        Ok(Built { report, notes, unmatched, hash_tree, missing, bases, base_paths, lacking })
    }
}

/// Refuses what an image of composefs can't be, as it would not be what it is without.
fn refuse_composefs(job: &Job<'_>, options: &Options) -> Result<(), BuildError> {
    let found = match job {
        Job { blob: Some(_), .. } => "together with a file for chunks",
        Job { recipe: Some(_), .. } => "together with a provenance",
        Job { bases, .. } if !bases.is_empty() => "together with bases",
        _ if options.attributes.digest_xattr.is_some() => "together with digests of content",
        _ => return Ok(()),
    };
    let expected = "an image byte for byte as mkcomposefs makes it".into();
    Err(BuildError::Option { option: "composefs", found: found.into(), expected })
}

fn refuse_occupied(path: &Path, offset: u64) -> Result<(), Error> {
    let failed = |source| Error::Target { path: path.to_owned(), action: "open", source };
    if is_replaceable(path, offset).map_err(failed)? {
        return Ok(());
    }
    Err(Error::Occupied(path.to_owned()))
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
                files: Files::new(move |path| files.covers(path)).named(&glob),
                compression: compressor.map(compression),
                second: None,
            });
        }
        self.changes.into_iter().for_each(|change| change(&mut options));
        Ok(options)
    }
}
