//! Maps the arguments of mkfs.erofs to a source, options and a build.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use lith::{
    Adjust, Builder, Overlay, Times,
    builder::{BuildError, ChunkForm, Chunks, DataImport, Fragments, ImageId, Options},
    device::{FileDevice, OffsetDevice},
    format::{
        addr::BlockBits,
        kernel::{Capability, KernelVersion},
    },
    reader::Image,
    source::{self, Data, Excludes, Source, TarEnd},
    tree::Timestamp,
};
use uuid::Uuid;

use super::{
    android::Android,
    arguments::{Arguments, AttributeArguments, LayoutArguments, SourceArguments},
    compression::Compressions,
};
use crate::{
    args::{
        self, attributes::owners, attributes::wrapped, extended, layout::xattr_prefixes,
        value::block_bits,
    },
    output::error::Place,
};

#[derive(Debug)]
pub(super) struct Request {
    pub(super) image: PathBuf,
    pub(super) from: From,
    /// Whether the source is added to the existing image, as a layer above its content.
    pub(super) is_incremental: bool,
    pub(super) read: source::Options,
    pub(super) options: Options,
    pub(super) adjust: Adjust,
    /// The device that chunks are written to instead of the image.
    pub(super) blob: Option<PathBuf>,
    /// Where in its file the image starts.
    pub(super) offset: u64,
    pub(super) android: Android,
    /// Where the map from blocks of the image to bytes of the tar is written.
    pub(super) source_map: Option<PathBuf>,
    pub(super) vmdk: Option<PathBuf>,
    pub(super) is_quiet: bool,
    /// Whether directories stay uncompressed although `--zD` is given.
    pub(super) leaves_directories: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum From {
    Directory(PathBuf),
    /// A tar, or one on standard input.
    Tar(Option<PathBuf>),
    /// Images, the lowest layer first.
    Images(Vec<PathBuf>),
}

/// Bytes of memory that the build uses beside its encoders, without those for temporary data of the source.
const MEMORY: usize = Builder::DEFAULT_MEMORY - Builder::spool_memory(Builder::DEFAULT_MEMORY);

impl Request {
    pub(super) fn new(arguments: Arguments) -> Result<Self, String> {
        arguments.refused.check()?;
        let from = From::new(&arguments)?;
        let android = Android::new(&arguments.attributes)?;
        let (mode, source_map) = tar(arguments.source.tar.as_deref(), &from)?;
        let (file_times, build_time) = times(&arguments.attributes)?;
        let mut options = image_options(&arguments, build_time)?;
        // erofs-utils compress directories apart from files; here the packed inode holds them.
        let target = &mut options.compression;
        let can_pack = target.metabox.is_some() && target.fragments != Fragments::None;
        let leaves_directories = target.pack_directories && !can_pack;
        target.pack_directories &= can_pack;
        options.data = match (data_import(&arguments.source, &from)?, mode) {
            (DataImport::Full, TarMode::Headers) => DataImport::Zeros,
            (DataImport::Full, TarMode::Index) if source_map.is_some() => DataImport::Reserved,
            (data, _) => data,
        };
        let is_incremental = arguments.source.incremental.is_some();
        if is_incremental && options.data != DataImport::Full {
            return Err("--incremental takes all data: what is in the image stays there".into());
        }
        let refers = options.data == DataImport::Full && mode == TarMode::Index;
        let offset = arguments.layout.offset.unwrap_or(0);
        match &from {
            _ if is_incremental => options.layout.block = block_of(&arguments.image, offset)?,
            // Data in a tar starts at multiples of 512 bytes.
            From::Tar(_) if refers => options.layout.block = block(512)?,
            From::Images(paths) => {
                let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
                options.layout.block = block_of(first, 0)?;
            }
            _ => {}
        }
        let blob = blob(&arguments.layout)?;
        let read = read_options(&arguments, data(&arguments.source, &from, mode))?;
        if blob.is_some() || read.data == Data::Refer {
            options.kernel = Capability::Devices.since();
        }
        raise_kernel(&mut options)?;
        // Directories with whiteouts are marked, unless all metadata of overlayfs is stripped.
        let strips = is_on("--ovlfs-strip", arguments.source.ovlfs_strip.as_deref())?;
        let overlay = if strips { Overlay::Strip } else { Overlay::Mark };
        let adjust = adjust(&arguments.attributes, overlay, file_times);
        check_metadata_zone(arguments.layout.metadata_zone.as_deref())?;
        Ok(Self {
            image: arguments.image,
            from,
            is_incremental,
            read,
            options,
            adjust,
            blob,
            offset,
            android,
            source_map,
            vmdk: arguments.layout.vmdk_desc,
            is_quiet: arguments.work.quiet || arguments.work.verbosity == 0,
            leaves_directories,
        })
    }

    pub(super) fn builder(&self, source: Source) -> Builder<'static> {
        let options = self.options.clone();
        let encoders = options.encoder_memory().saturating_mul(self.read.workers.get() as u64);
        let encoders = usize::try_from(encoders).unwrap_or(usize::MAX);
        let builder = Builder::source(source)
            .options(|all| *all = options)
            .adjust(self.adjust)
            .offset(self.offset)
            // As mkfs.erofs does.
            .force(true)
            .workers(self.read.workers)
            .memory(MEMORY.saturating_add(encoders));
        match &self.blob {
            Some(blob) => builder.blob(blob),
            None => builder,
        }
    }

    pub(super) fn devices(&self) -> Vec<PathBuf> {
        match &self.from {
            From::Images(paths) if self.read.data == Data::Refer => paths.clone(),
            From::Tar(path) if self.read.data == Data::Refer => path.iter().cloned().collect(),
            _ => self.blob.iter().cloned().collect(),
        }
    }
}

impl From {
    fn new(arguments: &Arguments) -> Result<Self, String> {
        let (sources, is_tar) = (&arguments.sources, arguments.source.tar.is_some());
        match &**sources {
            [] if is_tar => Ok(Self::Tar(None)),
            [] => Err("missing argument: SOURCE".into()),
            [tar] if is_tar => Ok(Self::Tar(Some(tar.clone()))),
            [first, second, ..] if is_tar || first.is_dir() => Err(format!(
                "{}: one source is enough, {} is there",
                second.display(),
                first.display()
            )),
            [directory] if directory.is_dir() => Ok(Self::Directory(directory.clone())),
            images => Ok(Self::Images(images.to_vec())),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TarMode {
    /// Its data is copied.
    Full,
    /// Its data is referred to.
    Index,
    /// It has no data.
    Headers,
}

/// The argument of --tar: how the tar is used, and where the source map is written.
fn tar(value: Option<&str>, from: &From) -> Result<(TarMode, Option<PathBuf>), String> {
    let value = value.unwrap_or("f");
    let (mode, map) = value.split_once(',').unwrap_or((value, ""));
    let map = (!map.is_empty()).then(|| PathBuf::from(map));
    if map.is_some() && *from == From::Tar(None) {
        return Err("--tar: a map takes a tar that can be read again, not standard input".into());
    }
    match mode {
        "f" => Ok((TarMode::Full, map)),
        "i" | "0" => Ok((TarMode::Index, map)),
        "headerball" => Ok((TarMode::Headers, map)),
        other => Err(format!("--tar takes f, i or headerball, not {other:?}")),
    }
}

/// How the bytes of files in the source are used.
fn data(arguments: &SourceArguments, from: &From, mode: TarMode) -> Data {
    match (from, mode) {
        (From::Tar(_), TarMode::Headers) => Data::Omitted,
        (From::Tar(_), TarMode::Index) => Data::Refer,
        (From::Images(_), _) if arguments.clean.is_none() && arguments.incremental.is_none() => {
            Data::Refer
        }
        _ => Data::Take,
    }
}

/// Which bytes of files the image holds.
fn data_import(arguments: &SourceArguments, from: &From) -> Result<DataImport, String> {
    let (option, value) = match (&arguments.clean, &arguments.incremental) {
        (_, Some(value)) => ("--incremental", &**value),
        (Some(value), None) => ("--clean", &**value),
        (None, None) => return Ok(DataImport::Full),
    };
    match (value, from) {
        ("data", _) => Ok(DataImport::Full),
        ("rvsp", From::Tar(_) | From::Images(_)) => Ok(DataImport::Reserved),
        ("rvsp" | "0", _) => Err(format!("{option}={value} is not for such a source")),
        _ => Err(format!("{option} takes data, rvsp or 0, not {value:?}")),
    }
}

/// The block size of the image that starts at byte `offset` of a file.
fn block_of(path: &Path, offset: u64) -> Result<BlockBits, String> {
    let about =
        |problem: &dyn std::error::Error| format!("{}: {}", Place(path), args::one_line(problem));
    let file = FileDevice::open(path).map_err(|error| about(&error))?;
    let image = Image::open(OffsetDevice::new(file, offset)).map_err(|error| about(&error))?;
    Ok(image.superblock().block)
}

fn blob(arguments: &LayoutArguments) -> Result<Option<PathBuf>, String> {
    match (&arguments.blobdev, arguments.chunksize) {
        (Some(_), None) => Err("--blobdev takes --chunksize with it".into()),
        (blob, _) => Ok(blob.clone()),
    }
}

/// Metadata is contiguous anyway, so a zone for it changes nothing.
fn check_metadata_zone(value: Option<&str>) -> Result<(), String> {
    match value {
        None | Some("0" | "i" | "id" | "di") => Ok(()),
        Some(other) => Err(format!("--MZ takes 0, i or id, not {other:?}")),
    }
}

fn image_options(arguments: &Arguments, build_time: Option<Timestamp>) -> Result<Options, String> {
    let compression = Compressions::new(arguments)?;
    let LayoutArguments { block: bytes, xattr_prefix, xattr_inode_digest, chunksize, .. } =
        &arguments.layout;
    let label = arguments.attributes.label.clone().unwrap_or_default();
    let max_extent = arguments.data.max_extent_bytes.filter(|bytes| *bytes > 0);
    let mut options = Options::uncompressed();
    options.kernel = KernelVersion::OLDEST;
    let layout = &mut options.layout;
    layout.block = block(*bytes)?;
    layout.chunks = chunksize.map(chunks).transpose()?;
    layout.alignment = size("--dsunit", arguments.layout.dsunit.unwrap_or(0).max(1))?;
    // A power of two, as in mkfs.erofs.
    let size_alignment = arguments.layout.fsalignblks.unwrap_or(0).checked_next_power_of_two();
    layout.size_alignment = size_alignment.unwrap_or(1);
    let target = &mut options.compression;
    target.files = compression.first();
    target.rules = compression.rules(arguments, layout.block)?;
    target.metabox = compression.metabox(arguments)?;
    target.pack_directories = is_on("--zD", arguments.data.compress_directories.as_deref())?;
    target.max_extent = max_extent.map(|bytes| size("--max-extent-bytes", bytes)).transpose()?;
    let attributes = &mut options.attributes;
    attributes.share_xattrs = u32::try_from(arguments.layout.xattr_tolerance).ok();
    attributes.root_xattr_size =
        size("--root-xattr-isize", arguments.layout.root_xattr_isize.unwrap_or(0))?;
    attributes.ignore_mtime = arguments.attributes.ignore_mtime;
    attributes.digest_xattr = xattr_inode_digest.as_ref().map(|n| n.as_encoded_bytes().to_vec());
    attributes.xattr_prefixes = xattr_prefixes(xattr_prefix);
    options.identity.build_time = build_time;
    options.identity.label = label.into_encoded_bytes();
    options.identity.id = image_id(arguments.attributes.uuid.as_deref())?;
    if let Some(bits) = arguments.data.zfeature_bits {
        extended::set_bits(&mut options, bits)?;
    }
    extended::set(&mut options, &arguments.data.extended)?;
    let target = &options.compression;
    let layout = &mut options.layout;
    if target.dedupe && target.files.is_none() && layout.chunks.is_none() {
        // Uncompressed data is deduplicated by chunks only.
        layout.chunks = Some(Chunks { size: layout.block.size(), form: ChunkForm::Smallest });
    }
    Ok(options)
}

fn chunks(bytes: u64) -> Result<Chunks, String> {
    Ok(Chunks { size: size("--chunksize", bytes)?, form: ChunkForm::Smallest })
}

/// A number of an option, as a narrower one.
fn size<T: TryFrom<u64>>(option: &str, number: u64) -> Result<T, String> {
    T::try_from(number).map_err(|_large| format!("{option}: {number} is too large"))
}

/// The value of an option that switches, and does not unless given.
fn is_on(option: &str, value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(format!("{option} takes 0 or 1, not {other:?}")),
    }
}

/// Raises the target kernel to the oldest that reads what is requested.
fn raise_kernel(options: &mut Options) -> Result<(), String> {
    loop {
        match options.check() {
            Ok(()) => return Ok(()),
            Err(BuildError::Kernel { needs, .. }) if needs > options.kernel => {
                options.kernel = needs;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn block(bytes: u64) -> Result<BlockBits, String> {
    block_bits(bytes).ok_or_else(|| {
        format!("invalid block size {bytes}: a power of two from 512 to 65536 is expected")
    })
}

fn workers(arguments: &Arguments) -> NonZeroUsize {
    let given = arguments.work.workers.and_then(|number| usize::try_from(number).ok());
    args::workers(given.and_then(NonZeroUsize::new))
}

fn read_options(arguments: &Arguments, data: Data) -> Result<source::Options, String> {
    let SourceArguments { ungzip, unxz, .. } = &arguments.source;
    let raw_copy = ungzip.iter().chain(unxz).find(|path| !path.is_empty());
    let exclude = excludes(&arguments.source)?;
    Ok(source::Options::with(|read| {
        read.exclude = exclude;
        read.xattrs = arguments.layout.xattr_tolerance >= 0;
        read.dereference_hard_links = arguments.source.hard_dereference;
        read.aufs = arguments.source.aufs;
        (read.data, read.tar_end) = (data, TarEnd::Anywhere);
        read.raw_copy = raw_copy.map(PathBuf::from);
        read.spool_dir = lith::temporary_directory(&arguments.image);
        read.workers = workers(arguments);
    }))
}

fn excludes(arguments: &SourceArguments) -> Result<Excludes, String> {
    let mut excludes = Excludes::default();
    for path in &arguments.exclude_path {
        excludes.add_path(path.as_encoded_bytes());
    }
    for pattern in &arguments.exclude_regex {
        let added = excludes.add_regex(pattern.as_bytes());
        added.map_err(|error| format!("--exclude-regex: {}", args::one_line(&error)))?;
    }
    Ok(excludes)
}

fn adjust(arguments: &AttributeArguments, overlay: Overlay, times: Times) -> Adjust {
    let [uid, gid] = owners(arguments.all_root, [arguments.force_uid, arguments.force_gid]);
    let (uid_offset, gid_offset) =
        (wrapped(arguments.uid_offset.unwrap_or(0)), wrapped(arguments.gid_offset.unwrap_or(0)));
    Adjust { uid, gid, uid_offset, gid_offset, overlay, times }
}

/// The times that arguments and environment set: those of files, and the image's own.
fn times(arguments: &AttributeArguments) -> Result<(Times, Option<Timestamp>), String> {
    if let Some(epoch) = args::source_date_epoch()? {
        return Ok((Times::Clamp(epoch), Some(epoch)));
    }
    let time = arguments.time.or_else(|| arguments.all_time.then(now));
    let time = time.map(|sec| Timestamp { sec, nsec: 0 });
    let files = time.filter(|_| !arguments.mkfs_time).map_or(Times::Keep, Times::Fixed);
    Ok((files, time))
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn image_id(value: Option<&str>) -> Result<ImageId, String> {
    match value {
        None => Ok(ImageId::FromContent),
        Some("clear") => Ok(ImageId::Clear),
        Some("random") => Ok(ImageId::Random),
        Some(value) => {
            let uuid = Uuid::try_parse(value).map_err(|_wrong| format!("invalid UUID {value}"))?;
            Ok(ImageId::Fixed(*uuid.as_bytes()))
        }
    }
}
