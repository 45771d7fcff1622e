//! What do the words of mkfs.erofs ask for, all together?

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use lith::{
    Adjust, BuildOptions, ImageId, Times,
    builder::{self, BuildError, Compression},
    codec::Compressor,
    format::{addr::BlockBits, kernel::KernelVersion},
    source,
    tree::Timestamp,
};
use uuid::Uuid;

use super::{
    compressors,
    words::{AttributeWords, DataWords, Words},
};
use crate::{
    args::{self, extended::Extended},
    output,
};

/// A finished wish.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) image: PathBuf,
    pub(super) from: From,
    pub(super) read: source::Options,
    pub(super) how: BuildOptions,
    pub(super) is_quiet: bool,
}

/// What the image is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum From {
    /// A directory.
    Directory(PathBuf),
    /// A tar, or one on standard input.
    Tar(Option<PathBuf>),
}

/// The part of a file that compression must save, in percent.
const MIN_SAVING: u8 = 2;

impl Request {
    /// The wish, or what is wrong with it.
    pub(super) fn new(words: Words) -> Result<Self, String> {
        words.refused.check()?;
        let from = From::new(&words)?;
        let image = image_options(&words)?;
        let adjust = adjust(&words.attributes, times(&words.attributes)?);
        let read = read_options(&words);
        let id = image_id(words.attributes.uuid.as_deref())?;
        let how = BuildOptions { image, id, adjust, verify: true };
        let is_quiet = words.work.quiet || words.work.verbosity == 0;
        Ok(Self { image: words.image, from, read, how, is_quiet })
    }
}

impl From {
    fn new(words: &Words) -> Result<Self, String> {
        let mut sources = words.sources.iter().cloned();
        let first = sources.next();
        if words.source.tar.is_some() {
            return match sources.next() {
                Some(second) => Err(format!("unexpected argument: {}", second.display())),
                None => Ok(Self::Tar(first)),
            };
        }
        let first = first.ok_or("missing argument: SOURCE")?;
        Ok(Self::Directory(first))
    }
}

fn image_options(words: &Words) -> Result<builder::Options, String> {
    let DataWords { pcluster, compressors, .. } = &words.data;
    let block = block(words.layout.block)?;
    let compressors = compressors::all(compressors)?;
    let pcluster = pcluster.unwrap_or(words.layout.block);
    let pcluster = u32::try_from(pcluster).map_err(|_large| "-C is too large".to_owned())?;
    let compression = |compressor: Compressor| Compression {
        compressor,
        pcluster: Some(pcluster),
        min_saving: MIN_SAVING,
    };
    let label = words.attributes.label.clone().unwrap_or_default();
    let prefixes = words.layout.xattr_prefix.iter();
    let mut options = builder::Options {
        block,
        compression: compressors.first().copied().map(compression),
        label: label.into_encoded_bytes(),
        xattr_prefixes: prefixes.map(|prefix| prefix.as_encoded_bytes().to_vec()).collect(),
        workers: workers(words),
        kernel: KernelVersion::OLDEST,
        ..builder::Options::default()
    };
    Extended::parse(&words.data.extended)?.apply(&mut options);
    raise_kernel(&mut options)?;
    Ok(options)
}

/// Lets the image be for the oldest kernel that mounts what is asked for.
fn raise_kernel(options: &mut builder::Options) -> Result<(), String> {
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

fn read_options(words: &Words) -> source::Options {
    source::Options {
        xattrs: words.layout.xattr_tolerance >= 0,
        dereference_hard_links: words.source.hard_dereference,
        aufs: words.source.aufs,
        spool_dir: output::directory_of(&words.image).to_owned(),
        workers: workers(words),
        ..source::Options::default()
    }
}

fn adjust(words: &AttributeWords, times: Times) -> Adjust {
    let root = words.all_root.then_some(0);
    Adjust { uid: words.force_uid.or(root), gid: words.force_gid.or(root), times }
}

/// What -T, its companions and the environment say of times.
fn times(words: &AttributeWords) -> Result<Times, String> {
    let at = |sec| Timestamp { sec, nsec: 0 };
    if let Some(epoch) = args::source_date_epoch()? {
        return Ok(Times::Clamp(epoch));
    }
    Ok(match words.time {
        Some(_) if words.mkfs_time => Times::Keep,
        Some(time) => Times::Fixed(at(time)),
        None if words.all_time => Times::Fixed(at(now())),
        None => Times::Keep,
    })
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
