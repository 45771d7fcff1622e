//! What do the words of mkfs.erofs ask for, all together?

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
    compression::Compressions,
    words::{AttributeWords, LayoutWords, SourceWords, Words},
};
use crate::{
    args::{self, extended::Extended},
    output::error::Place,
};

/// A finished wish.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) image: PathBuf,
    pub(super) from: From,
    /// Whether what is in the image stays, below what is added.
    pub(super) is_incremental: bool,
    pub(super) read: source::Options,
    /// What kind of image is made.
    pub(super) options: Options,
    pub(super) adjust: Adjust,
    /// The device that chunks are written to instead of the image.
    pub(super) blob: Option<PathBuf>,
    /// Where in its file the image starts.
    pub(super) offset: u64,
    pub(super) android: Android,
    /// Where it is written down which bytes of the tar belong where.
    pub(super) source_map: Option<PathBuf>,
    /// Where it is written down how image and devices make one disk.
    pub(super) vmdk: Option<PathBuf>,
    pub(super) is_quiet: bool,
}

/// What the image is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum From {
    /// A directory.
    Directory(PathBuf),
    /// A tar, or one on standard input.
    Tar(Option<PathBuf>),
    /// Images, the lowest first.
    Images(Vec<PathBuf>),
}

/// Bytes of memory that the build uses, without those for temporary data of the source.
const MEMORY: usize = Builder::DEFAULT_MEMORY - Builder::spool_memory(Builder::DEFAULT_MEMORY);

impl Request {
    /// The wish, or what is wrong with it.
    pub(super) fn new(words: Words) -> Result<Self, String> {
        words.refused.check()?;
        let from = From::new(&words)?;
        let android = Android::new(&words.attributes)?;
        let Tar { mode, map: source_map } = Tar::new(words.source.tar.as_deref(), &from)?;
        let times = Moments::new(&words.attributes)?;
        let mut options = image_options(&words, &times)?;
        options.data = match (data_import(&words.source, &from)?, mode) {
            (DataImport::Full, TarMode::Headers) => DataImport::Zeros,
            (DataImport::Full, TarMode::Index) if source_map.is_some() => DataImport::Reserved,
            (data, _) => data,
        };
        let is_incremental = words.source.incremental.is_some();
        if is_incremental && options.data != DataImport::Full {
            return Err("--incremental takes all data: what is in the image stays there".into());
        }
        let refers = options.data == DataImport::Full && mode == TarMode::Index;
        let offset = words.layout.offset.unwrap_or(0);
        match &from {
            _ if is_incremental => options.layout.block = block_of(&words.image, offset)?,
            // Only so can data in a tar be referred to.
            From::Tar(_) if refers => options.layout.block = block(512)?,
            From::Images(paths) => {
                let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
                options.layout.block = block_of(first, 0)?;
            }
            _ => {}
        }
        let blob = blob(&words.layout)?;
        let read = read_options(&words, data(&words.source, &from, mode))?;
        if blob.is_some() || read.data == Data::Refer {
            options.kernel = Capability::Devices.since();
        }
        raise_kernel(&mut options)?;
        let overlay = overlay(words.source.ovlfs_strip.as_deref())?;
        let adjust = adjust(&words.attributes, overlay, times.files);
        check_metadata_zone(words.layout.metadata_zone.as_deref())?;
        Ok(Self {
            image: words.image,
            from,
            is_incremental,
            read,
            options,
            adjust,
            blob,
            offset,
            android,
            source_map,
            vmdk: words.layout.vmdk_desc,
            is_quiet: words.work.quiet || words.work.verbosity == 0,
        })
    }

    /// A build as requested of a source.
    pub(super) fn builder(&self, source: Source) -> Builder<'static> {
        let options = self.options.clone();
        let builder = Builder::source(source)
            .options(|all| *all = options)
            .adjust(self.adjust)
            .offset(self.offset)
            .workers(self.read.workers)
            .memory(MEMORY);
        match &self.blob {
            Some(blob) => builder.blob(blob),
            None => builder,
        }
    }

    /// The files beside the image on which bytes of its files lie.
    pub(super) fn devices(&self) -> Vec<PathBuf> {
        match &self.from {
            From::Images(paths) if self.read.data == Data::Refer => paths.clone(),
            From::Tar(path) if self.read.data == Data::Refer => path.iter().cloned().collect(),
            _ => self.blob.iter().cloned().collect(),
        }
    }
}

impl From {
    fn new(words: &Words) -> Result<Self, String> {
        let (sources, is_tar) = (&words.sources, words.source.tar.is_some());
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

/// What --tar asks for.
struct Tar {
    mode: TarMode,
    /// A file for a map.
    map: Option<PathBuf>,
}

/// What becomes of a tar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TarMode {
    /// All of it is taken.
    Full,
    /// Its data is referred to.
    Index,
    /// It has no data.
    Headers,
}

impl Tar {
    fn new(word: Option<&str>, from: &From) -> Result<Self, String> {
        let word = word.unwrap_or("f");
        let (mode, map) = word.split_once(',').map_or((word, ""), |(mode, map)| (mode, map));
        let map = (!map.is_empty()).then(|| PathBuf::from(map));
        if map.is_some() && *from == From::Tar(None) {
            return Err(
                "--tar: a map takes a tar that can be read again, not standard input".into()
            );
        }
        let mode = match mode {
            "f" => TarMode::Full,
            "i" | "0" => TarMode::Index,
            "headerball" => TarMode::Headers,
            other => return Err(format!("--tar takes f, i or headerball, not {other:?}")),
        };
        Ok(Self { mode, map })
    }
}

/// What becomes of the bytes of files in the source.
fn data(words: &SourceWords, from: &From, mode: TarMode) -> Data {
    match (from, mode) {
        (From::Tar(_), TarMode::Headers) => Data::Omitted,
        (From::Tar(_), TarMode::Index) => Data::Refer,
        (From::Images(_), _) if words.clean.is_none() && words.incremental.is_none() => Data::Refer,
        _ => Data::Take,
    }
}

/// What the image has of the bytes of files.
fn data_import(words: &SourceWords, from: &From) -> Result<DataImport, String> {
    let (option, word) = match (&words.clean, &words.incremental) {
        (_, Some(word)) => ("--incremental", &**word),
        (Some(word), None) => ("--clean", &**word),
        (None, None) => return Ok(DataImport::Full),
    };
    match (word, from) {
        ("data", _) => Ok(DataImport::Full),
        ("rvsp", From::Tar(_) | From::Images(_)) => Ok(DataImport::Reserved),
        ("rvsp" | "0", _) => Err(format!("{option}={word} is not for such a source")),
        _ => Err(format!("{option} takes data, rvsp or 0, not {word:?}")),
    }
}

/// The block size of the image that begins at byte `offset` of a file.
fn block_of(path: &Path, offset: u64) -> Result<BlockBits, String> {
    let about =
        |problem: &dyn std::error::Error| format!("{}: {}", Place(path), args::one_line(problem));
    let file = FileDevice::open(path).map_err(|error| about(&error))?;
    let image = Image::open(OffsetDevice::new(file, offset)).map_err(|error| about(&error))?;
    Ok(image.superblock().block)
}

fn blob(words: &LayoutWords) -> Result<Option<PathBuf>, String> {
    match (&words.blobdev, words.chunksize) {
        (Some(_), None) => Err("--blobdev takes --chunksize with it".into()),
        (blob, _) => Ok(blob.clone()),
    }
}

/// Metadata lies together in any case, so all that can be said of a zone for it is said already.
fn check_metadata_zone(word: Option<&str>) -> Result<(), String> {
    match word {
        None | Some("0" | "i" | "id" | "di") => Ok(()),
        Some(other) => Err(format!("--MZ takes 0, i or id, not {other:?}")),
    }
}

fn image_options(words: &Words, times: &Moments) -> Result<Options, String> {
    let compression = Compressions::new(words)?;
    let LayoutWords { block: bytes, xattr_prefix, xattr_inode_digest, chunksize, .. } =
        &words.layout;
    let label = words.attributes.label.clone().unwrap_or_default();
    let max_extent = words.data.max_extent_bytes.filter(|bytes| *bytes > 0);
    let mut options = Options::uncompressed();
    options.kernel = KernelVersion::OLDEST;
    let layout = &mut options.layout;
    layout.block = block(*bytes)?;
    layout.chunks = chunksize.map(chunks).transpose()?;
    layout.alignment = size("--dsunit", words.layout.dsunit.unwrap_or(0).max(1))?;
    // A power of two, as in mkfs.erofs.
    let size_alignment = words.layout.fsalignblks.unwrap_or(0).checked_next_power_of_two();
    layout.size_alignment = size_alignment.unwrap_or(1);
    let target = &mut options.compression;
    target.files = compression.first();
    target.rules = compression.rules(words)?;
    target.metabox = compression.metabox(words)?;
    target.pack_directories = packs_directories(words.data.compress_directories.as_deref())?;
    target.max_extent = max_extent.map(|bytes| size("--max-extent-bytes", bytes)).transpose()?;
    let attributes = &mut options.attributes;
    attributes.share_xattrs = u32::try_from(words.layout.xattr_tolerance).ok();
    attributes.root_xattr_size =
        size("--root-xattr-isize", words.layout.root_xattr_isize.unwrap_or(0))?;
    attributes.ignore_mtime = words.attributes.ignore_mtime;
    attributes.digest_xattr = xattr_inode_digest.as_ref().map(|n| n.as_encoded_bytes().to_vec());
    attributes.xattr_prefixes =
        xattr_prefix.iter().map(|p| p.as_encoded_bytes().to_vec()).collect();
    options.identity.build_time = times.image;
    options.identity.label = label.into_encoded_bytes();
    options.identity.id = image_id(words.attributes.uuid.as_deref())?;
    let bits = words.data.zfeature_bits.map_or(Ok(Extended::default()), Extended::parse_bits)?;
    bits.apply(&mut options);
    Extended::parse(&words.data.extended)?.apply(&mut options);
    let target = &options.compression;
    if target.pack_directories && (target.metabox.is_none() || target.fragments == Fragments::None)
    {
        return Err("--zD takes -m and -E fragments with it".into());
    }
    let layout = &mut options.layout;
    if target.dedupe && target.files.is_none() && layout.chunks.is_none() {
        // What isn't compressed is found again in chunks only.
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

fn packs_directories(word: Option<&str>) -> Result<bool, String> {
    match word {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(format!("--zD takes 0 or 1, not {other:?}")),
    }
}

/// Lets the image be for the oldest kernel that mounts what is asked for.
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

pub(super) fn block(bytes: u64) -> Result<BlockBits, String> {
    let bits = bytes.checked_ilog2().and_then(|bits| u8::try_from(bits).ok());
    let block = bits.filter(|_| bytes.is_power_of_two()).and_then(BlockBits::new);
    block.ok_or_else(|| {
        format!("invalid block size {bytes}: a power of two from 512 to 65536 is expected")
    })
}

fn workers(words: &Words) -> NonZeroUsize {
    let asked = words.work.workers.and_then(|asked| usize::try_from(asked).ok());
    args::workers(asked.and_then(NonZeroUsize::new))
}

fn read_options(words: &Words, data: Data) -> Result<source::Options, String> {
    let SourceWords { ungzip, unxz, .. } = &words.source;
    let raw_copy = ungzip.iter().chain(unxz).find(|path| !path.is_empty());
    let exclude = excludes(&words.source)?;
    Ok(source::Options::with(|read| {
        read.exclude = exclude;
        read.xattrs = words.layout.xattr_tolerance >= 0;
        read.dereference_hard_links = words.source.hard_dereference;
        read.aufs = words.source.aufs;
        (read.data, read.tar_end) = (data, TarEnd::Anywhere);
        read.raw_copy = raw_copy.map(PathBuf::from);
        read.spool_dir = lith::temporary_directory(&words.image);
        read.workers = workers(words);
    }))
}

fn excludes(words: &SourceWords) -> Result<Excludes, String> {
    let mut excludes = Excludes::default();
    for path in &words.exclude_path {
        excludes.add_path(path.as_encoded_bytes());
    }
    for pattern in &words.exclude_regex {
        let added = excludes.add_regex(pattern.as_bytes());
        added.map_err(|error| format!("--exclude-regex: {}", args::one_line(&error)))?;
    }
    Ok(excludes)
}

/// Folders that hold whiteouts are marked, unless nothing of overlayfs shall be left.
fn overlay(strip: Option<&str>) -> Result<Overlay, String> {
    match strip {
        None | Some("0") => Ok(Overlay::Mark),
        Some("1") => Ok(Overlay::Strip),
        Some(other) => Err(format!("--ovlfs-strip takes 0 or 1, not {other:?}")),
    }
}

fn adjust(words: &AttributeWords, overlay: Overlay, times: Times) -> Adjust {
    let root = words.all_root.then_some(0);
    let (uid, gid) = (words.force_uid.or(root), words.force_gid.or(root));
    let (uid_offset, gid_offset) = (wrapped(words.uid_offset), wrapped(words.gid_offset));
    Adjust { uid, gid, uid_offset, gid_offset, overlay, times }
}

/// An offset modulo 2³², as ids are.
fn wrapped(offset: Option<i64>) -> u32 {
    let rest = offset.unwrap_or(0).rem_euclid(1 << 32);
    u32::try_from(rest).unwrap_or_default()
}

/// What the words and the environment say of times.
struct Moments {
    /// Those of files.
    files: Times,
    /// The image's own.
    image: Option<Timestamp>,
}

impl Moments {
    fn new(words: &AttributeWords) -> Result<Self, String> {
        let at = |sec| Timestamp { sec, nsec: 0 };
        if let Some(epoch) = args::source_date_epoch()? {
            return Ok(Self { files: Times::Clamp(epoch), image: Some(epoch) });
        }
        let time = words.time.or_else(|| words.all_time.then(now)).map(at);
        let files = time.filter(|_| !words.mkfs_time).map_or(Times::Keep, Times::Fixed);
        Ok(Self { files, image: time })
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn image_id(word: Option<&str>) -> Result<ImageId, String> {
    match word {
        None => Ok(ImageId::FromContent),
        Some("clear") => Ok(ImageId::Clear),
        Some("random") => Ok(ImageId::Random),
        Some(word) => {
            let uuid = Uuid::try_parse(word).map_err(|_wrong| format!("invalid UUID {word}"))?;
            Ok(ImageId::Fixed(*uuid.as_bytes()))
        }
    }
}
