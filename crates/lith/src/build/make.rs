//! Builds an image beside its path, verifies it, and only then names it.

use std::{
    borrow::Cow,
    fs::File,
    io, iter,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use lith_bases::{Bases, Identity, Reuse, Search};
use lith_builder::{BuildError, Context, DataImport, Input, Known, Options, Output, Report};
use lith_format::{addr::BlockBits, kernel::Capability};
use lith_observer::Observer;
use lith_profile::{Hint, Hot};
use lith_source::{Note, OnError, Source};
use lith_transform::{Adjust, record_digests};
use lith_tree::{ContentError, Filesystem, Kind, Tree};

use super::{
    companion::{Companion, commit, target},
    flush,
    protection::{HashTree, Protected, Protection},
    staged::{Staged, temporary_directory},
    unreadable::{Trial, leave_out, unreadable},
    verify::{Verification, verify},
};
use crate::{
    Error, composefs,
    provenance::{Provenance, Recipe},
};

/// How an image is made, apart from what kind of image it is.
pub(crate) struct Job<'a> {
    /// Owners and times that replace those of the source.
    pub(crate) adjust: Adjust,
    /// Images that hold content to which the image refers.
    pub(crate) bases: Vec<PathBuf>,
    /// Where their own bases are.
    pub(crate) search: Search,
    /// How many files the image may refer to, bases of bases included.
    pub(crate) most_bases: usize,
    /// What they are to the image.
    pub(crate) role: Role,
    /// Where they are.
    pub(crate) bases_at: BasesAt,
    /// What happens if bases need a newer kernel than the options have.
    pub(crate) newer_bases: NewerBases,
    /// What is read first.
    pub(crate) hints: Arc<[Hint]>,
    /// The version of an image of composefs, if it is to be one.
    pub(crate) composefs: Option<composefs::Version>,
    /// What the image records of how it is made, if it does.
    pub(crate) recipe: Option<Recipe>,
    /// Whether a pattern that matches nothing is an error.
    pub(crate) strict: bool,
    /// The file that chunks are written to instead of the image.
    pub(crate) blob: Option<PathBuf>,
    /// How the image is protected by a hash tree.
    pub(crate) protection: Option<Protection>,
    /// Where in its file the image starts. What precedes it, of a file that is there already, stays.
    pub(crate) offset: u64,
    /// Whether a file that is neither an image nor empty is replaced.
    pub(crate) force: bool,
    /// What happens if the content of a file can't be read.
    pub(crate) on_error: OnError,
    /// Whether the image is read back and compared with what was read of the source.
    pub(crate) verify: bool,
    /// Threads that read and compress.
    pub(crate) workers: NonZeroUsize,
    /// Bytes of memory to use; `None`: the default.
    pub(crate) memory: Option<usize>,
    /// Follows the build and can cancel it.
    pub(crate) observer: &'a dyn Observer,
}

impl Job<'_> {
    /// Whether bases follow the image on its device.
    fn is_flat(&self) -> bool {
        self.bases_at == BasesAt::End
    }

    /// Bytes of memory to use for an image with these options.
    pub(crate) fn memory_for(&self, options: &Options) -> usize {
        self.memory.unwrap_or_else(|| {
            let encoders = options.encoder_memory().saturating_mul(self.workers.get() as u64);
            let encoders = usize::try_from(encoders).unwrap_or(usize::MAX);
            Context::DEFAULT_MEMORY.saturating_add(encoders)
        })
    }
}

/// What happens if bases need a newer kernel than that of the options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NewerBases {
    /// The build fails.
    Refuse,
    /// Theirs becomes that of the options.
    RaiseKernel,
}

/// Where bases are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BasesAt {
    /// On devices of their own.
    Devices,
    /// On the image's device, after it.
    End,
}

/// What bases are to an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The image refers to those bytes of its source that they hold.
    Searched,
    /// The source is made of them, and the image refers to them.
    Layers(Identity),
    /// The source is made of them, and the image gets copies of what they hold.
    Copied,
}

/// Makes an image of `source` at a path, in the file that a function creates for it.
///
/// The image is written to a file without a name, read back and compared unless that is switched off, synced, and only
/// then named: after any failure the old file at `path` is still there, unless only syncing its directory failed. A device
/// for chunks and a hash tree are named just before.
pub(crate) fn make(
    source: &mut Source,
    (path, create): (&Path, impl FnOnce(&Path) -> io::Result<Staged>),
    options: &Options,
    job: &Job<'_>,
) -> Result<Made, Error> {
    let failed = |action| move |source| target(path, action, source);
    let identity = match job.role {
        Role::Layers(identity) => identity,
        Role::Searched | Role::Copied => Identity::Whole,
    };
    let bases = Bases::open(&job.bases, &job.search, identity)?;
    bases.check_count(job.most_bases)?;
    refuse_base(path, &bases)?;
    let lacking = lacking(&bases, options, job);
    let kernel = lacking.iter().map(|need| need.since()).fold(options.kernel, Ord::max);
    let options = &options.clone().with(|options| options.kernel = kernel);
    let (known, start) = if job.is_flat() {
        let (known, start) = known_after(&bases, (source, path), options, job)?;
        (known, Some(start))
    } else {
        (known(&bases, source.filesystem(), options, job)?, None)
    };
    let staged = create(path).map_err(failed("create"))?;
    let blob = job.blob.as_deref().map(|blob| Companion::create(blob, path)).transpose()?;
    let protected = job.protection.as_ref().map(|protection| Protected::create(protection, path));
    let protected = protected.transpose()?;
    let referred = Referred { bases: &bases, known, start };
    let mut making = Making { path, job, referred, staged, blob, protected };
    let mut left_out = Vec::new();
    let (made, written) = loop {
        making.start().map_err(failed("keep the beginning of"))?;
        // The attribute with digests isn't listed, and so no part of the provenance.
        let recorded = with_provenance(source.filesystem(), options, job).and_then(|options| {
            record(source, &options, job.workers)?;
            Ok(options)
        });
        match recorded.and_then(|options| making.attempt(source.filesystem(), &options)) {
            Err(Error::Build(BuildError::Content(error))) => {
                // What is known of the other files stays: inodes keep their indices.
                left_out.extend(without_unreadable(source, error, job)?);
            }
            finished => break finished?,
        }
    };
    written.and_then(|()| making.staged.prepare()).map_err(failed("put into place"))?;
    making.blob.as_mut().map_or(Ok(()), Companion::prepare)?;
    making.protected.as_mut().map_or(Ok(()), Protected::prepare)?;
    making.blob.map_or(Ok(()), Companion::commit)?;
    making.protected.map_or(Ok(()), Protected::commit)?;
    commit(making.staged, path)?;
    let bases = bases.paths().map(Path::to_owned).collect();
    Ok(Made { left_out, bases, lacking, ..made })
}

/// What became of a source.
pub(crate) struct Made {
    pub(crate) report: Report,
    /// The hash tree of the image, if it has one.
    pub(crate) tree: Option<HashTree>,
    /// Notes about files that were left out because they can't be read.
    pub(crate) left_out: Vec<Note>,
    /// The files that it refers to.
    pub(crate) bases: Vec<PathBuf>,
    /// What these need and the kernel of the options lacked.
    pub(crate) lacking: Vec<Capability>,
}

/// What bases need and the kernel of the options lacks, if a newer one may be chosen.
fn lacking(bases: &Bases, options: &Options, job: &Job<'_>) -> Vec<Capability> {
    if job.newer_bases == NewerBases::Refuse {
        return Vec::new();
    }
    let has_devices = job.bases_at == BasesAt::Devices && job.role != Role::Copied;
    let needs = bases.needs().filter(|need| has_devices || *need != Capability::Devices);
    needs.filter(|need| !options.kernel.supports(&[*need])).collect()
}

/// Gives files the digests of their content, if the image is to have them.
fn record(source: &mut Source, options: &Options, workers: NonZeroUsize) -> Result<(), Error> {
    let Some(name) = &options.attributes.digest_xattr else { return Ok(()) };
    let Source { tree, contents, .. } = source;
    record_digests(tree, &**contents, name, workers)
        .map_err(|error| BuildError::Content(error).into())
}

/// The options, with what the image is to record of how it is made.
fn with_provenance<'o>(
    fs: Filesystem<'_>,
    options: &'o Options,
    job: &Job<'_>,
) -> Result<Cow<'o, Options>, Error> {
    let Some(recipe) = &job.recipe else { return Ok(Cow::Borrowed(options)) };
    let provenance = Provenance::new(recipe.clone(), fs);
    let text = provenance.map_err(BuildError::Content)?.to_text();
    let recorded = |options: &mut Options| options.identity.provenance = Some(text);
    Ok(Cow::Owned(options.clone().with(recorded)))
}

/// Leaves out all files that can't be read, of which `error` is about one; or fails with all of them.
fn without_unreadable(
    source: &mut Source,
    error: ContentError,
    job: &Job<'_>,
) -> Result<Vec<Note>, Error> {
    let skips = job.on_error == OnError::Skip;
    let trial = if skips { Trial::Read } else { Trial::Open };
    let files = unreadable(source.filesystem(), trial, job.workers);
    let can_skip = skips && error.is_of_file() && files.iter().all(|(_, error)| error.is_of_file());
    match files.len() {
        1.. if can_skip => Ok(leave_out(source, files)),
        2.. => Err(Error::Unreadable(files.into_iter().map(|(_, error)| error).collect())),
        _ => Err(BuildError::Content(error).into()),
    }
}

/// What bases hold for an image.
struct Referred<'a> {
    bases: &'a Bases,
    known: Known<'a>,
    /// The block at which they start, if they follow the image.
    start: Option<u64>,
}

/// What an image is made in, and how.
struct Making<'a> {
    path: &'a Path,
    job: &'a Job<'a>,
    referred: Referred<'a>,
    staged: Staged,
    blob: Option<Companion>,
    protected: Option<Protected<'a>>,
}

impl Making<'_> {
    /// Empties the files of an attempt that failed.
    fn start(&self) -> io::Result<()> {
        self.staged.clear()?;
        self.blob.as_ref().map_or(Ok(()), Companion::clear)?;
        self.protected.as_ref().map_or(Ok(()), Protected::clear)?;
        self.staged.keep(self.job.offset)
    }

    /// Builds the image and compares it with its source. Also returns whether it is on the disk.
    fn attempt(
        &self,
        fs: Filesystem<'_>,
        options: &Options,
    ) -> Result<(Made, io::Result<()>), Error> {
        let Self { job, staged, referred, .. } = self;
        let temporary = temporary_directory(self.path);
        let mut context = Context::new(&temporary);
        (context.workers, context.memory) = (job.workers, job.memory_for(options));
        (context.observer, context.blob) = (job.observer, self.blob.as_ref().map(Companion::file));
        // Writing back to the disk overlaps with building and verifying.
        flush::beside(staged.file(), |finished| {
            let output = Output::new(staged.file(), job.offset);
            // Files that are left out have no place in it.
            let order = Hot::new(&job.hints, fs.tree).order;
            let input = Input::from(fs).with_known(&referred.known).with_order(&order);
            let mut built = match job.composefs {
                Some(version) => lith_builder::composefs::build(fs, output, version, &context)?,
                None => lith_builder::build(input, output, options, &context)?,
            };
            self.pad(options, &mut built.report)?;
            let bytes = built.report.image_bytes;
            let tree = self.protected.as_ref();
            let tree = tree.map(|tree| tree.write((staged.file(), job.offset, bytes), job.workers));
            let tree = tree.transpose()?;
            finished();
            // A flat image that is only measured is not where its bases follow.
            if job.verify && job.is_flat() == referred.start.is_some() {
                let copies = iter::once(staged.file()).chain(context.blob);
                let bases = referred.bases.paths().filter(|_| job.role != Role::Copied);
                let copies = copies.map(File::try_clone).chain(bases.map(File::open));
                let copies = copies.collect::<Result<Vec<_>, _>>();
                let verification = Verification {
                    devices: copies.map_err(|source| target(self.path, "read back", source))?,
                    start: job.offset,
                    is_joined: job.is_flat(),
                    fs,
                    built: &built,
                    known: &referred.known,
                    has_content: options.data == DataImport::Full,
                    samples: job.role == Role::Searched && !job.bases.is_empty(),
                    workers: job.workers,
                    observer: job.observer,
                };
                verify(verification)?;
            }
            let (left_out, bases, lacking) = (Vec::new(), Vec::new(), Vec::new());
            Ok(Made { report: built.report, tree, left_out, bases, lacking })
        })
    }
}

impl Making<'_> {
    /// Lengthens an image that its bases follow to where they start.
    fn pad(&self, options: &Options, report: &mut Report) -> Result<(), Error> {
        let Some(start) = self.referred.start else { return Ok(()) };
        let bytes = start.saturating_mul(options.layout.block.size().into());
        if report.image_bytes > bytes {
            let problem = "the image became longer than it was when it was measured";
            return Err(target(self.path, "complete", io::Error::other(problem)));
        }
        report.image_bytes = bytes;
        let file = self.staged.file();
        let is_file = file.metadata().map(|found| found.is_file());
        let padded = is_file.and_then(|is_file| if is_file { file.set_len(bytes) } else { Ok(()) });
        padded.map_err(|source| target(self.path, "lengthen", source))
    }
}

/// Refuses to replace a base: the new image would refer to what is no longer there.
fn refuse_base(path: &Path, bases: &Bases) -> Result<(), Error> {
    let own = path.canonicalize().ok();
    let is_own = |base: &Path| own.is_some() && base.canonicalize().ok() == own;
    if bases.paths().any(is_own) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it is a base of the new image");
        return Err(target(path, "replace", source));
    }
    Ok(())
}

/// What bases hold for an image of a source.
fn known<'b>(
    bases: &'b Bases,
    fs: Filesystem<'_>,
    options: &Options,
    job: &Job<'_>,
) -> Result<Known<'b>, Error> {
    if job.bases.is_empty() {
        return Ok(Known::new());
    }
    let block = options.layout.block;
    let room = room(fs.tree, block);
    Ok(match job.role {
        Role::Searched => bases.known(fs, (block, room), job.workers)?,
        Role::Layers(_) => bases.layers(fs, block, Reuse::Refer { room }, job.workers)?,
        Role::Copied => bases.layers(fs, block, Reuse::Copy, job.workers)?,
    })
}

/// Blocks by which compressed metadata may grow because addresses are others.
const SLACK: u64 = 8;

/// What bases hold for an image that they follow on its device, and the block at which they start. The image is made once to
/// know how long it is, since its addresses count from its end.
fn known_after<'b>(
    bases: &'b Bases,
    (source, path): (&mut Source, &Path),
    options: &Options,
    job: &Job<'_>,
) -> Result<(Known<'b>, u64), Error> {
    refuse_flat(job)?;
    let block = options.layout.block;
    let far = room(&source.tree, block);
    let far = bases.known_after(source.filesystem(), (block, far), job.workers)?;
    let file = tempfile::tempfile_in(temporary_directory(path));
    let file = file.map_err(|source| target(path, "measure", source))?;
    let options = with_provenance(source.filesystem(), options, job)?;
    record(source, &options, job.workers)?;
    let making = Making {
        path,
        job,
        referred: Referred { bases, known: far, start: None },
        staged: Staged::in_place(file),
        blob: None,
        protected: None,
    };
    let (made, _written) = making.attempt(source.filesystem(), &options)?;
    let slack = if options.compression.metabox.is_some() { SLACK } else { 0 };
    let start = block.blocks_for(made.report.image_bytes) + slack;
    Ok((bases.known_after(source.filesystem(), (block, start), job.workers)?, start))
}

/// Refuses what a patch that its bases follow can't be.
fn refuse_flat(job: &Job<'_>) -> Result<(), BuildError> {
    let found = match job {
        Job { blob: Some(_), .. } => "together with a file for chunks",
        Job { protection: Some(_), .. } => {
            "together with a hash tree, which would be that of a part"
        }
        Job { offset: 1.., .. } => "not at the start of its file",
        Job { bases, .. } if bases.is_empty() => "without a base",
        Job { role: Role::Layers(_) | Role::Copied, .. } => "of layers",
        _ => return Ok(()),
    };
    let expected = "a patch in a file of its own".into();
    Err(BuildError::Option { option: "flat", found: found.into(), expected })
}

/// More blocks than an image of a tree can have. The addresses of bases begin there, because they must be known before the
/// image is as long as it will be.
fn room(tree: &Tree, block: BlockBits) -> u64 {
    const LEAST: u64 = 1 << 16;
    const FOR_INODE: u64 = 4;
    let blocks = tree.walk().fold(LEAST, |sum: u64, visit| {
        let content = match tree.get(visit.inode).kind {
            Kind::Regular { size } => block.blocks_for(size).saturating_mul(2),
            _ => 0,
        };
        sum.saturating_add(content).saturating_add(FOR_INODE)
    });
    blocks.checked_next_power_of_two().unwrap_or(u64::MAX)
}
