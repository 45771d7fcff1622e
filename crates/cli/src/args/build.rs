//! Defines the arguments of `lith build`, and maps them to a source, options and resources.

use std::{
    ffi::OsString,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{ArgMatches, Args, Command, FromArgMatches, error::ErrorKind};
use lith::{
    Adjust, Builder,
    bases::Search,
    builder::{
        ChunkForm, Chunks, Compression, Fragments, ImageId, IndexForm, Options, Preset, Rule,
    },
    codec::Compressor,
    format::addr::BlockBits,
    format::{
        compression::Algorithm,
        kernel::{Capability, KernelVersion, Target},
    },
    profile::Hint,
    provenance::Recipe,
    transform::Setting,
    verity::Protection,
};

use uuid::Uuid;

use super::{
    attributes::{AttributeArguments, Tables},
    content::{Content, ContentArguments},
    extended, hints,
    order::{OrderArguments, named_files},
    protection::ProtectionArgs,
    recipe::{self, Meaning},
    rule::RuleArgument,
    value::{self, Compressors, Metadata, Size},
};

/// A validated request to build an image.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Build {
    pub(crate) from: From,
    /// Whether each layer of a container image becomes an image of its own, in a folder.
    pub(crate) layers: bool,
    /// Where the devices of the source, and the bases of bases, are.
    pub(crate) search: Search,
    /// Images that the new one refers to.
    pub(crate) bases: Vec<PathBuf>,
    /// Whether these follow it on its device.
    pub(crate) flat: bool,
    /// How many images it may refer to, theirs included.
    pub(crate) max_depth: Option<usize>,
    pub(crate) image: PathBuf,
    pub(crate) content: Content,
    /// Whether a pattern that matches nothing is an error.
    pub(crate) strict: bool,
    pub(crate) options: Options,
    /// What decides on which kernels the image mounts, in case that is not what is expected.
    pub(crate) kernel_notes: Vec<String>,
    /// Owners and times that replace those of the source.
    pub(crate) adjust: Adjust,
    /// What is changed by tables and patterns.
    pub(crate) tables: Arc<Tables>,
    pub(crate) settings: Vec<Setting>,
    /// What is read first.
    pub(crate) hints: Arc<[Hint]>,
    pub(crate) place: Place,
    /// What the image records of all this, if it does.
    pub(crate) recipe: Option<Recipe>,
    /// How the image is made, apart from what kind of image it is.
    pub(crate) work: Work,
    pub(crate) json: bool,
}

/// What an image is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum From {
    /// Directories, archives and images, each on top of the one before.
    Layers(Vec<PathBuf>),
    /// A list of files, and the directory with their content.
    Manifest(PathBuf, PathBuf),
}

/// Where an image is put, besides its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Where in its file it starts.
    pub(crate) offset: u64,
    /// The folder with the content of files.
    pub(crate) objects: Option<PathBuf>,
    /// The file that chunks are written to instead.
    pub(crate) blob: Option<PathBuf>,
    /// How it is protected by a hash tree.
    pub(crate) protection: Option<Protection>,
}

/// How an image is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Work {
    pub(crate) workers: NonZeroUsize,
    /// Bytes of memory; `None`: the library's default.
    pub(crate) memory: Option<usize>,
    /// Whether the image is read back and compared with its source.
    pub(crate) verify: bool,
    /// Whether a file that is no image is replaced.
    pub(crate) force: bool,
}

/// Make an image of a directory, an archive or another image
#[derive(Args, Debug)]
#[command(
    override_usage = "lith build [OPTIONS] <SOURCE>... <IMAGE>",
    long_about = format!(
        "Makes an EROFS image of a directory, a tar, cpio or zip archive, a container image, or another image.\n\n\
        Without options the image is small, quick to read, and mounts on Linux {} and later. It is read back \
        and compared with the source before it replaces the file at its path; after any failure that file is \
        unchanged. The same source and options give the same bytes, on any machine and with any number of \
        workers.",
        KernelVersion::DEFAULT
    ),
    after_long_help = "\
Examples:
  lith build rootfs rootfs.erofs
  lith build -z lz4hc,12 -C 128K rootfs.tar.zst rootfs.erofs
  docker export box | lith build --all-root - box.erofs
  lith build rootfs - | ssh box 'cat > rootfs.erofs'
  lith build -z none --kernel 5.4 initrd initrd.erofs
  lith build /boot/initrd.img initrd.erofs
  lith build base.tar.zst overlay/ rootfs.erofs
  lith build oci:layout:v1 rootfs.erofs
  lith build docker://debian:13 rootfs.erofs
  lith build s3://bucket/rootfs.tar.zst rootfs.erofs
  lith build --platform linux/arm64 oci-archive:image.tar rootfs.erofs
  lith build --layers oci:layout:v1 images
  lith build --manifest rootfs.mtree rootfs rootfs.erofs
  lith build --profile app.profile rootfs rootfs.erofs
  lith build --rule '*.so=lz4' --rule '*.png=none' -z lzma rootfs rootfs.erofs
  lith build --verity --root-hash-file rootfs.roothash rootfs rootfs.erofs
  SOURCE_DATE_EPOCH=1700000000 lith build rootfs rootfs.erofs"
)]
struct Arguments {
    /// A directory, a tar or cpio archive (plain, gzip, xz, zstd or bzip2; `-`: standard input), a zip archive, an image of EROFS or
    /// SquashFS, any of these but directories also at `http(s)://`, `s3://`, `gs://`, `az://` or `oci://`, or a container image
    /// (`oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `docker-archive:FILE[:TAG]`, `docker://HOST/REPOSITORY:TAG`). Of several, each is a
    /// layer on top of the one before, as overlayfs has them. The last path is the image to make; `-` is standard output. A file that is
    /// there keeps its owner and mode
    // One list: of two, options could not be between them.
    #[arg(value_names = ["SOURCE", "IMAGE"], required = true, num_args = 1..)]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    data: DataArguments,

    #[command(flatten)]
    content: ContentArguments,

    #[command(flatten)]
    order: OrderArguments,

    #[command(flatten)]
    attributes: AttributeArguments,

    #[command(flatten)]
    protection: ProtectionArgs,

    /// Record in the image, outside of its tree, by what, with which options and of what it is made: for
    /// `lith info --provenance` and `lith rebuild`. The source's content is read once more for its digest
    #[arg(long, help_heading = "Integrity")]
    provenance: bool,

    #[command(flatten)]
    work: WorkArguments,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Compression and layout")]
struct DataArguments {
    /// The defaults of -z, -C, -E and -m: fast (quick to build), balanced (small, and quick to read), small (much
    /// smaller, slower to read) or smallest (slow to build and to read) [default: balanced]
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = value::preset())]
    preset: Option<Preset>,

    /// The compression of files: none, lz4, lz4hc (levels 1 to 12), zstd (-7 to 22), deflate (1 to 12) or lzma (0 to 9,
    /// and 100 to 109 with more effort); dictsize=SIZE is the window of zstd and lzma, lc=, lp= and pb= tune lzma. Further
    /// algorithms for --compress-hints follow after colons
    #[arg(short = 'z', long, value_name = "ALGORITHM[,LEVEL][:...]")]
    compress: Option<Compressors>,

    /// The largest pcluster, 4K to 1M: larger ones make smaller images, but small reads decompress more
    /// [default: 64K, or one block for a kernel that reads no more]
    #[arg(short = 'C', long, value_name = "SIZE")]
    pcluster: Option<Size>,

    /// Another compression for files that match: `*.so=lz4`, `/usr/share=lzma,6,pcluster=1M`, `*.jpg=none`, or two
    /// algorithms, `*.so=lz4hc,12|zstd,9`, of which the second makes the pclusters that hold clearly more with it. The
    /// first rule that matches counts; can be repeated
    #[arg(long = "rule", value_name = "GLOB=ALGORITHM[,LEVEL][,pcluster=SIZE]")]
    rules: Vec<RuleArgument>,

    /// Further rules, after those of --rule, in the format of mkfs.erofs: in each line a pcluster size (0: no compression),
    /// optionally the number of an algorithm of -z, counted from 0, and a regular expression for paths without a leading
    /// slash
    #[arg(long, value_name = "FILE")]
    compress_hints: Option<PathBuf>,

    /// Extended features, separated by commas; can be repeated
    #[arg(short = 'E', value_name = "FEATURE,...", allow_hyphen_values = true, long_help = format!(
        "Extended features, separated by commas; can be repeated\n\n\
        fragments (ends of files and small files share pclusters), all-fragments (all files do), ztailpacking (the \
        last pcluster of a file is inline), dedupe (repeated data is stored once), legacy-compress (full indexes); \
        for Linux {}, 48bit (compact inodes with times of their own, small indexes, images beyond 16 TiB) and \
        dot-omitted (directories without `.`). A leading `^` switches a feature off. The other features of \
        mkfs.erofs are accepted as well",
        Capability::Bits48.since()
    ))]
    extended: Vec<String>,

    #[arg(short = 'm', long, value_name = "SIZE[:ALGORITHM]", help = format!(
        "Compress metadata in pclusters of this size, like files unless an algorithm is given; for Linux {}",
        Capability::Metabox.since()
    ))]
    metadata: Option<Metadata>,

    /// Whether directories of more than a block are stored compressed in the packed inode; needs -m and fragments
    #[arg(long = "zD", value_name = "0|1", num_args = 0..=1, default_missing_value = "1", require_equals = true, value_parser = value::zero_or_one)]
    pack_directories: Option<bool>,

    /// The least saving by compression, in percent of a file; a file that saves less is stored uncompressed
    #[arg(long, value_name = "PERCENT", default_value_t = Compression::DEFAULT_MIN_SAVING, value_parser = value::percent)]
    min_saving: u8,

    #[arg(long, value_name = "FORM", default_value = "compact", hide_possible_values = true, value_parser = value::index(), help = format!(
        "The index of compressed files: compact, full (about four times as large) or records (one for each \
        pcluster, for Linux {})",
        Capability::ExtentRecords.since()
    ))]
    index: IndexForm,

    /// Block size; a kernel mounts no blocks larger than its pages
    #[arg(short = 'b', long, value_name = "SIZE", default_value = "4K", value_parser = value::block)]
    block_size: BlockBits,

    /// Start the image at this byte of its file, and keep the bytes before it
    #[arg(long, value_name = "BYTES", default_value = "0", hide_default_value = true)]
    offset: Size,

    /// Store files that are not compressed in chunks of this size, equal ones once; for all files -z none
    #[arg(long, value_name = "SIZE")]
    chunk_size: Option<Size>,

    /// Store chunks in this file instead of the image: a device that readers of the image need, too
    #[arg(long, value_name = "FILE", requires = "chunk_size")]
    blob: Option<PathBuf>,

    /// Store the content of files of more than 64 bytes in this folder, as objects that are named by their fs-verity digests, and
    /// make an image that refers to them, as mkcomposefs does
    #[arg(
        long,
        value_name = "OBJECTS",
        conflicts_with_all = ["compress", "preset", "metadata", "chunk_size", "blob", "bases", "provenance"]
    )]
    composefs: Option<PathBuf>,

    #[arg(long = "xattr-prefix", value_name = "PREFIX", help = format!(
        "A prefix of xattr names to store once; for Linux {}, can be repeated",
        Capability::LongXattrPrefixes.since()
    ))]
    xattr_prefixes: Vec<OsString>,

    /// The oldest Linux that must mount the image, or `host` for the one that runs: features that it lacks are not used,
    /// and refused if requested [default: 6.1, or what the requested features need]
    #[arg(long, value_name = "VERSION", value_parser = value::kernel)]
    kernel: Option<KernelVersion>,

    #[arg(long = "for", value_name = "NAME", conflicts_with = "kernel", value_parser = value::target(), hide_possible_values = true)]
    #[arg(help = format!(
        "The distribution whose kernel must mount the image, by its version and its configuration: {}",
        Target::ALL.iter().map(|target| target.name).collect::<Vec<_>>().join(", "),
    ))]
    target: Option<Target>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Resources and output")]
struct WorkArguments {
    /// Threads that read and compress [default: one for each core]
    #[arg(long, value_name = "N", value_parser = value::count)]
    workers: Option<NonZeroUsize>,

    /// Memory to use, encoders included, in addition to some hundred bytes for each file; fewer threads work if their
    /// encoders don't fit [default: 200M and what the encoders of all threads take]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,

    /// Replace a file that is neither an EROFS image nor empty
    #[arg(long)]
    force: bool,

    /// Don't read the image back to compare it with the source
    #[arg(long)]
    no_verify: bool,

    /// Print the report as a JSON object
    #[arg(long)]
    json: bool,
}

impl Args for Build {
    fn augment_args(command: Command) -> Command {
        Arguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Arguments::augment_args_for_update(command)
    }
}

impl FromArgMatches for Build {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let arguments = Arguments::from_arg_matches(matches)?;
        let command = || Arguments::augment_args(Command::new("lith build"));
        let is_recorded = arguments.provenance;
        let request = arguments.into_request().and_then(|mut build| {
            if is_recorded {
                build.recipe = Some(recipe::record(&build.meaning()?, &command(), matches)?);
            }
            Ok(build)
        });
        request.map_err(|problem| {
            clap::Error::raw(ErrorKind::ValueValidation, problem).format(&mut command())
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Build {
    /// The build that an image records, of these sources and with these files that its options named.
    pub(crate) fn again(
        recipe: &Recipe,
        (sources, files): (&[PathBuf], &[PathBuf]),
        image: &Path,
    ) -> Result<Self, String> {
        if sources.len() != recipe.sources {
            let Recipe { sources: expected, .. } = recipe;
            return Err(format!("it was made of {expected} sources, not of {}", sources.len()));
        }
        let mut words = recipe::words(recipe, files)?;
        words.push("--".into());
        words.extend(sources.iter().map(|path| path.as_os_str().to_owned()));
        words.push(image.as_os_str().to_owned());
        let command = Self::augment_args(Command::new("lith build"));
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        Self::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    /// What the arguments mean here and now. A random UUID is chosen.
    fn meaning(&mut self) -> Result<Meaning, String> {
        if self.place.blob.is_some() {
            return Err("--provenance describes one file: it has no meaning with --blob".into());
        }
        let id = &mut self.options.identity.id;
        if *id == ImageId::Random {
            *id = ImageId::Fixed(*Uuid::new_v4().as_bytes());
        }
        let uuid = match *id {
            ImageId::Fixed(uuid) => Some(Uuid::from_bytes(uuid)),
            _ => None,
        };
        let sources = match &self.from {
            From::Layers(paths) => paths.len(),
            From::Manifest(..) => 1,
        };
        Ok(Meaning { sources, adjust: self.adjust, kernel: self.options.kernel, uuid })
    }

    /// The build that is requested.
    pub(crate) fn builder(&self) -> Builder<'static> {
        let content = self.content.clone();
        let search = self.search.clone();
        // Bases have devices, and so has a source that is an image.
        let search = if self.bases.is_empty() { search } else { search.shared() };
        let builder = match self.from.clone() {
            From::Layers(paths) => Builder::paths(paths, search.clone()),
            From::Manifest(list, folder) => Builder::manifest(list, folder),
        };
        let builder = self.bases.iter().fold(builder, Builder::base).search(search);
        self.with(builder).on_error(content.on_error).read(|read| content.set(read))
    }

    /// The same build of another source, which is read already.
    pub(crate) fn with<'a>(&self, builder: Builder<'a>) -> Builder<'a> {
        let (options, tables) = (self.options.clone(), Arc::clone(&self.tables));
        let Work { workers, memory, verify, force } = self.work;
        let builder = self.settings.iter().cloned().fold(builder, Builder::set);
        let builder = match &self.place.blob {
            Some(blob) => builder.blob(blob),
            None => builder,
        };
        let builder = match &self.place.objects {
            Some(objects) => builder.composefs(objects),
            None => builder,
        };
        let builder = match &self.recipe {
            Some(recipe) => builder.provenance(recipe.clone()),
            None => builder,
        };
        let builder = match &self.place.protection {
            Some(protection) => builder.protect(protection.clone()),
            None => builder,
        };
        let builder = match memory {
            Some(bytes) => builder.memory(bytes),
            None => builder,
        };
        builder
            .flat(self.flat)
            .max_bases(self.max_depth.unwrap_or(usize::MAX))
            .offset(self.place.offset)
            .hints(Arc::clone(&self.hints))
            .strict(self.strict)
            .options(|all| *all = options)
            .edit(move |tree| Ok(tables.apply(tree)?))
            .adjust(self.adjust)
            .workers(workers)
            .verify(verify)
            .force(force)
    }
}

impl Arguments {
    /// The request, or the reason why the arguments don't go together.
    fn into_request(mut self) -> Result<Build, String> {
        if self.data.composefs.is_some() {
            self.data.compress = Some(Compressors(Vec::new()));
        }
        if let Some(cold) = self.order.cold.take() {
            let (compressors, pcluster) = cold.into_parts();
            self.data.compress = Some(Compressors(compressors));
            self.data.pcluster = pcluster.or(self.data.pcluster);
        }
        let hints = self.order.hints()?;
        let (options, kernel_notes) = self.options(&hints)?;
        let mut hints = hints;
        if self.order.append_stable {
            let bases = std::mem::take(&mut self.content.bases);
            hints.push(super::order::order_of(&bases)?);
        }
        let mut sources = std::mem::take(&mut self.paths);
        let image = sources.pop().ok_or("missing arguments: SOURCE IMAGE")?;
        if sources.is_empty() && self.content.manifest.is_none() {
            return Err("missing argument: IMAGE".to_owned());
        }
        let mut adjust = self.attributes.adjust(super::source_date_epoch()?)?;
        adjust.overlay = self.content.overlay(sources.len());
        let tables = Arc::new(self.attributes.tables()?);
        let content = self.content.content(&sources)?;
        Ok(Build {
            hints: hints.into(),
            from: from(sources, self.content.manifest.clone())?,
            content,
            strict: self.content.strict,
            layers: self.content.layers,
            search: self.content.devices.search(),
            bases: self.content.bases,
            flat: self.content.flat,
            max_depth: self.content.max_depth,
            image,
            options,
            kernel_notes,
            adjust,
            tables,
            settings: self.attributes.settings,
            place: Place {
                offset: self.data.offset.0,
                objects: self.data.composefs,
                blob: self.data.blob,
                protection: self.protection.protection(None)?,
            },
            recipe: None,
            work: self.work.work()?,
            json: self.work.json,
        })
    }

    /// What kind of image is made, and notes about the kernels that mount it.
    fn options(&self, hints: &[Hint]) -> Result<(Options, Vec<String>), String> {
        let mut options = self.data.options()?;
        if let Some(hot) = &self.order.hot {
            if hints.is_empty() {
                return Err("--hot has no meaning without --profile or --order".into());
            }
            let min_saving = self.data.min_saving;
            let default = Compression { min_saving, ..Compression::new(Compressor::Lz4) };
            match hot.as_heat(default) {
                // Ranges of files that are otherwise uncompressed are not: they would lose what is read in place.
                Some(heat) if options.compression.files.is_some() => {
                    options.compression.hot = Some(heat);
                }
                _ => {
                    let rule = hot.clone().into_rule(named_files(hints), default);
                    options.compression.rules.push(rule);
                }
            }
        }
        options.identity.label =
            self.attributes.label.clone().unwrap_or_default().into_encoded_bytes();
        options.identity.id = self.attributes.uuid;
        let digests = self.attributes.digests.as_ref();
        options.attributes.digest_xattr = digests.map(|name| name.as_encoded_bytes().to_vec());
        let mut notes = Vec::new();
        if let Some(target) = &self.data.target {
            check_target(&options, target)?;
        } else if self.data.kernel.is_none() {
            let needs = options.raise_kernel().map_err(|error| error.to_string())?;
            if !needs.is_empty() {
                let what: Vec<_> = needs.into_iter().map(|need| need.what).collect();
                let what = what.join(", ");
                notes.push(format!("mounts on Linux {} and later: {what}", options.kernel));
            }
        }
        options.check().map_err(|error| error.to_string())?;
        notes.extend(self.data.preset_note(options.kernel));
        notes.extend(self.data.configuration_note(&options));
        Ok((options, notes))
    }
}

impl DataArguments {
    /// What kind of image is made: as the preset has it, unless an option says otherwise. Without compression of files
    /// nothing of the preset remains.
    fn options(&self) -> Result<Options, String> {
        let kernel = self.target.map(|target| target.kernel).or(self.kernel);
        let kernel = kernel.unwrap_or(KernelVersion::DEFAULT);
        let preset = self.preset.unwrap_or_default();
        let preset = self
            .target
            .map_or_else(|| preset.options(kernel), |target| preset.options_for(&target));
        let files = self.files(&preset)?;
        let metabox = self.metabox(&preset, files)?;
        let rules = self.rules(&preset)?;
        let mut options = if files.is_some() { preset } else { Options::uncompressed() };
        options.kernel = kernel;
        options.layout.block = self.block_size;
        options.attributes.xattr_prefixes = xattr_prefixes(&self.xattr_prefixes);
        options.compression.files = files;
        options.compression.metabox = metabox;
        options.compression.rules = rules;
        options.compression.index = self.index;
        let chunks = |size: Size| Chunks { size: size.as_u32(), form: ChunkForm::default() };
        options.layout.chunks = self.chunk_size.map(chunks);
        extended::set(&mut options, &self.extended)?;
        let compression = &mut options.compression;
        let can_pack = compression.metabox.is_some()
            && compression.files.is_some()
            && compression.fragments != Fragments::None;
        compression.pack_directories =
            self.pack_directories.unwrap_or(compression.pack_directories && can_pack);
        Ok(options)
    }

    /// That the preset means less for this kernel, if one of both was chosen.
    fn preset_note(&self, kernel: KernelVersion) -> Option<String> {
        if let Some(target) = &self.target {
            return self.target_note(target);
        }
        let is_chosen = self.preset.is_some() || self.kernel.is_some();
        let preset = self.preset.unwrap_or_default();
        let full = preset.full_since().filter(|full| kernel < *full)?;
        (is_chosen && self.compress.is_none())
            .then(|| format!("the preset {preset} makes smaller images with --kernel {full}"))
    }

    /// What a small preset is for a distribution without LZMA.
    fn target_note(&self, target: &Target) -> Option<String> {
        let preset = self.preset.filter(|_| self.compress.is_none())?;
        let is_small = matches!(preset, Preset::Small | Preset::Smallest);
        let has_dedupe = is_small && preset.options_for(target).compression.dedupe;
        (has_dedupe && !target.reads(Algorithm::Lzma)).then(|| {
            let option = Algorithm::Lzma.kernel_option();
            format!(
                "{target} has no {option}: the preset {preset} is lz4hc in pclusters of 1 MiB, with everything shared"
            )
        })
    }

    /// Which options of its configuration a kernel needs, if there are distributions whose kernel is new enough and lacks one.
    fn configuration_note(&self, options: &Options) -> Option<String> {
        if self.target.is_some() {
            return None;
        }
        let algorithms: Vec<_> = options.algorithms().collect();
        let lacks = |target: &&Target| algorithms.iter().any(|needed| !target.reads(*needed));
        let targets = Target::ALL.iter().filter(|target| target.kernel >= options.kernel);
        let lacking: Vec<_> = targets.filter(lacks).map(|target| target.name).collect();
        let needed = algorithms.iter().filter(|algorithm| **algorithm != Algorithm::Lz4);
        let mut needed: Vec<_> = needed.map(|algorithm| algorithm.kernel_option()).collect();
        needed.dedup();
        (!lacking.is_empty()).then(|| {
            let (needed, lacking) = (needed.join(" and "), lacking.join(", "));
            format!("mounts on kernels with {needed}: not on {lacking} (see --for)")
        })
    }

    fn files(&self, preset: &Options) -> Result<Option<Compression>, String> {
        let Some(compressor) = self.compressors(preset).first().copied() else {
            return match self.pcluster {
                Some(_) if self.rules.is_empty() => {
                    Err("--pcluster has no meaning without compression (-z none)".into())
                }
                _ => Ok(None),
            };
        };
        Ok(Some(Compression { compressor, ..self.default_compression(preset) }))
    }

    /// The preset's compression of files, with the pcluster size and the saving that are given.
    fn default_compression(&self, preset: &Options) -> Compression {
        let files = preset.compression.files.expect("every preset compresses files");
        let pcluster = self.pcluster.map(Size::as_u32).or(files.pcluster);
        Compression { pcluster, min_saving: self.min_saving, ..files }
    }

    /// The compressors that `-z` lists, or the preset's.
    fn compressors(&self, preset: &Options) -> Vec<Compressor> {
        let preset = || preset.compression.files.iter().map(|files| files.compressor).collect();
        self.compress.as_ref().map_or_else(preset, |all| all.0.clone())
    }

    /// The rules of --rule, followed by those of --compress-hints.
    fn rules(&self, preset: &Options) -> Result<Vec<Rule>, String> {
        let default = self.default_compression(preset);
        let mut rules: Vec<_> =
            self.rules.iter().cloned().map(|rule| rule.into_rule(default)).collect();
        if let Some(path) = &self.compress_hints {
            let context = hints::Context {
                compressors: &self.compressors(preset),
                default,
                block: self.block_size,
            };
            rules.extend(hints::read(path, &context)?);
        }
        Ok(rules)
    }

    /// The compression of inodes: that of -m, or the preset's with the compressor of files.
    fn metabox(
        &self,
        preset: &Options,
        files: Option<Compression>,
    ) -> Result<Option<Compression>, String> {
        let files = files.map(|files| files.compressor);
        let (compressor, pcluster) = match (self.metadata, preset.compression.metabox) {
            (Some(Metadata { pcluster, compressor }), _) => {
                let missing = "-m has no meaning without an algorithm, its own or that of -z";
                (Some(compressor.or(files).ok_or(missing)?), Some(pcluster.as_u32()))
            }
            (None, Some(metabox)) => {
                (files, metabox.pcluster.map(|size| size.max(self.block_size.size())))
            }
            (None, None) => (None, None),
        };
        let min_saving = self.min_saving;
        Ok(compressor.map(|compressor| Compression { compressor, pcluster, min_saving }))
    }
}

/// Refuses algorithms that the distribution's kernel doesn't read. What needs a newer kernel is refused by the options' own check.
fn check_target(options: &Options, target: &Target) -> Result<(), String> {
    match options.algorithms().find(|algorithm| !target.reads(*algorithm)) {
        None => Ok(()),
        Some(algorithm) => {
            let (kernel, option) = (target.kernel, algorithm.kernel_option());
            Err(format!("{target} mounts no {algorithm}: its Linux {kernel} has no {option}"))
        }
    }
}

pub(crate) fn xattr_prefixes(prefixes: &[OsString]) -> Vec<Vec<u8>> {
    prefixes.iter().map(|prefix| prefix.as_encoded_bytes().to_vec()).collect()
}

/// The sources, or the list with the directory of its files' content.
fn from(mut sources: Vec<PathBuf>, manifest: Option<PathBuf>) -> Result<From, String> {
    match (manifest, sources.len()) {
        (None, _) => Ok(From::Layers(sources)),
        (Some(list), 0) => Ok(From::Manifest(list, PathBuf::from("."))),
        (Some(list), 1) => Ok(From::Manifest(list, sources.remove(0))),
        (Some(_), _) => Err("--manifest takes one source: the directory with the content".into()),
    }
}

impl WorkArguments {
    fn work(&self) -> Result<Work, String> {
        let bytes = self.memory.map(|Size(bytes)| usize::try_from(bytes)).transpose();
        let too_large = |_error| "--memory is more than this machine can address".to_owned();
        Ok(Work {
            workers: super::workers(self.workers),
            memory: bytes.map_err(too_large)?,
            verify: !self.no_verify,
            force: self.force,
        })
    }
}

#[cfg(test)]
mod tests {
    use lith::{Overlay, Times, builder::ImageId, tree::Timestamp};

    use super::*;

    #[test]
    fn a_preset_is_that_of_the_library() {
        for preset in Preset::ALL {
            for kernel in ["5.4", "5.10", "5.15", "6.1", "6.12", "6.15", "6.17", "7.0"] {
                let found = parse(&["--preset", preset.name(), "--kernel", kernel]).unwrap();
                let expected = preset.options(kernel.parse().unwrap());
                let (found, expected) = (format!("{:?}", found.options), format!("{expected:?}"));
                assert_eq!(found, expected, "{preset}, {kernel}");
            }
        }
    }

    #[test]
    fn fragments_of_the_default_can_be_switched_off() {
        for (arguments, expected) in [
            (&[][..], Fragments::Tails),
            (&["-z", "zstd", "--kernel", "6.10"], Fragments::Tails),
            (&["-E", "^fragments"], Fragments::None),
            (&["-z", "none"], Fragments::None),
            (&["--kernel", "5.15"], Fragments::None),
            (&["--preset", "fast"], Fragments::None),
        ] {
            let found = parse(arguments).unwrap().options.compression.fragments;
            assert_eq!(found, expected, "{arguments:?}");
        }
    }

    fn parse(arguments: &[&str]) -> Result<Build, clap::Error> {
        let all = ["lith", "source", "image"].iter().chain(arguments);
        let command = Build::augment_args(Command::new("lith"));
        Build::from_arg_matches(&command.try_get_matches_from(all)?)
    }

    #[test]
    fn the_default_is_compressed_verified_and_deterministic() {
        let request = parse(&[]).unwrap();
        let image = &request.options;
        let compression = image.compression.files.unwrap();
        assert_eq!(compression.compressor, Compressor::Lz4Hc { level: 12 });
        assert_eq!((compression.pcluster, compression.min_saving), (None, 2));
        assert_eq!(format!("{image:?}"), format!("{:?}", Options::default()));
        assert_eq!(image.kernel, KernelVersion::new(6, 1));
        assert_eq!(request.work.memory, None);
        assert!(request.work.verify && !request.work.force && request.content.xattrs);
        assert_eq!(request.options.identity.id, ImageId::FromContent);
        assert_eq!(request.adjust, Adjust::default());
        assert!(!request.json);
    }

    #[test]
    fn short_options_may_be_glued_to_their_values() {
        let request = parse(&["-zlz4", "-C16K", "-b4096", "-T-7", "-Uclear", "-Lname"]).unwrap();
        let image = &request.options;
        let compression = image.compression.files.unwrap();
        assert_eq!(compression.compressor, Compressor::Lz4);
        assert_eq!(compression.pcluster, Some(16384));
        let time = Timestamp { sec: -7, nsec: 0 };
        assert_eq!(request.adjust.times, Times::Fixed(time));
        assert_eq!(request.options.identity.id, ImageId::Clear);
        assert_eq!(image.identity.label, b"name");
    }

    #[test]
    fn owners_and_switches_arrive() {
        let request = parse(&["--all-root", "--xattrs", "off", "--aufs", "--no-verify"]).unwrap();
        assert_eq!((request.adjust.uid, request.adjust.gid), (Some(0), Some(0)));
        assert!(!request.content.xattrs && request.content.aufs && !request.work.verify);
        let request = parse(&["--uid", "7", "--exclude", "*.o", "--exclude=/tmp", "-z", "none"]);
        let request = request.unwrap();
        assert_eq!((request.adjust.uid, request.adjust.gid), (Some(7), None));
        assert!(request.content.exclude.covers(b"a/x.o"));
        assert!(request.options.compression.files.is_none());
        let request = parse(&["-z", "none", "-C", "8K", "--rule", "*.o=lz4"]).unwrap();
        let rule = &request.options.compression.rules[0];
        assert_eq!(rule.compression.unwrap().pcluster, Some(8192));
    }

    #[test]
    fn marks_of_overlayfs_stay_only_in_a_single_source() {
        for (arguments, expected) in [
            (&[][..], Overlay::Keep),
            (&["--whiteouts", "drop"], Overlay::Strip),
            (&["third"], Overlay::Strip),
            (&["third", "--whiteouts", "keep"], Overlay::Keep),
        ] {
            assert_eq!(parse(arguments).unwrap().adjust.overlay, expected, "{arguments:?}");
        }
    }

    #[test]
    fn options_that_exclude_each_other_are_wrong_usage() {
        for (arguments, found) in [
            (&["-z", "none", "-C", "64K"][..], "--pcluster"),
            (&["-C", "5000"], "pcluster"),
            (&["-C", "8M"], "pcluster"),
            (&["-z", "zstd", "--for", "debian-12"], "CONFIG_EROFS_FS_ZIP_ZSTD"),
            (&["--rule", "*.so=lzma", "--for", "ubuntu-24.04"], "CONFIG_EROFS_FS_ZIP_LZMA"),
            (&["-m4096", "--for", "debian-13"], "6.17"),
            (&["--kernel", "6.1", "--for", "debian-12"], "cannot be used with"),
            (&["-C", "64K", "--kernel", "5.4"], "5.13"),
            (&["--xattr-prefix", "user.a.", "--kernel", "6.1"], "6.4"),
            (&["-E48bit", "--kernel", "6.12"], "48-bit layout needs Linux 6.15"),
            (&["-m4096", "--kernel", "6.15"], "compressed metadata needs Linux 6.17"),
            (&["-m4096", "-znone", "--kernel", "6.18"], "-m"),
            (&["-m4096:zip", "--kernel", "6.18"], "zip"),
            (&["-m5000:lzma", "--kernel", "6.18"], "pcluster"),
            (&["--zD", "--kernel", "6.18"], "fragments"),
            (&["--zD=2"], "0 or 1"),
            (&["-Edot-omitted", "--kernel", "6.1"], "6.15"),
            (&["--index", "records", "--kernel", "6.1"], "6.15"),
            (&["--xattr-prefix", "system.", "--kernel", "6.6"], "system."),
            (&["-b", "3000"], "512"),
            (&["-z", "zip"], "zip"),
            (&["-L", "sixteen letters."], "label"),
            (&["--mtime", "clamp"], "SOURCE_DATE_EPOCH"),
            (&["--all-root", "--uid", "3"], "--uid"),
            (&["--exclude", "a[b"], "a[b"),
            (&["--rule", "*.so=lzo"], "lzo"),
            (&["--rule", "*.so=lz4,pcluster=5000"], "pcluster"),
            (&["--rule", "*.so=lz4|lz4hc"], "another algorithm"),
            (&["--rule", "*.so=none|lz4"], "another algorithm"),
            (&["--rule", "*.so=lz4|zstd", "--kernel", "6.1"], "6.10"),
            (&["-z", "lz4:zstd:none"], "none"),
            (&["--compress-hints", "/nowhere/hints"], "/nowhere/hints"),
            (&["--rule", "*.so=zstd", "--kernel", "6.1"], "6.10"),
            (&["--rule", "*.so=lz4,pcluster=8K", "--kernel", "5.4"], "5.13"),
            (&["--workers", "0"], "0"),
            (&["--profile", "/nowhere/profile"], "/nowhere/profile"),
            (&["--sort", "/dev/null", "--order", "/nowhere/list"], "/nowhere/list"),
            (&["--profile", "/dev/null"], "this is no profile"),
            (&["--platform", "linux/arm64"], "--platform takes one container image"),
            (&["--platform", "linux"], "OS/ARCH"),
            (&["--config-file", "config"], "--config-file takes one container image"),
        ] {
            let error = parse(arguments).unwrap_err().to_string();
            assert!(error.contains(found), "{arguments:?}: {error}");
        }
    }
}
