//! Builds, opens and reads images in tests.

use std::{
    fs::{self, File},
    iter,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use lith::{
    Builder,
    builder::{Compression, Fragments, IndexForm, Options, Report},
    codec::Compressor,
    device::{FileDevice, MemoryDevice, ReadAt},
    format::{addr::BlockBits, kernel::KernelVersion},
    reader::{self, Image},
    source::{self, Source},
    transform::record_digests,
    tree::{Contents, Filesystem, Tree},
};
use lith_builder::Context;
use sha2::{Digest, Sha256};

/// A kernel that reads everything.
pub const NEWEST: KernelVersion = KernelVersion::new(6, 18);

/// Options without compression, with blocks of 4 KiB.
#[must_use]
pub fn plain() -> Options {
    Options::uncompressed().with(|o| o.kernel = NEWEST)
}

/// Compression with pclusters of so many bytes.
#[must_use]
pub fn compressed(compressor: Compressor, pcluster: u32) -> Options {
    let compression = Compression { compressor, pcluster: Some(pcluster), min_saving: 0 };
    plain().with(|o| o.compression.files = Some(compression))
}

/// LZ4HC of an effort.
#[must_use]
pub const fn lz4hc(level: u8) -> Compressor {
    Compressor::Lz4Hc { level }
}

/// The same with other block sizes.
#[must_use]
pub fn with_blocks(options: Options, bits: u8) -> Options {
    options.with(|o| o.layout.block = BlockBits::new(bits).unwrap())
}

/// The same with full indexes.
#[must_use]
pub fn with_full_index(options: Options) -> Options {
    options.with(|o| o.compression.index = IndexForm::Full)
}

/// The same with ends of files beside their inodes, in the packed inode, or with all of every file there.
#[must_use]
pub fn with_packing(options: Options, fragments: Fragments, tail_packing: bool) -> Options {
    options.with(|o| {
        o.compression.fragments = fragments;
        o.compression.tail_packing = tail_packing;
    })
}

/// The same with long prefixes of extended attributes, of which some are those of all trees made here.
#[must_use]
pub fn with_prefixes(options: Options) -> Options {
    let prefixes = ["security.se", "trusted.overlay.", "trusted.", "user.", "user.na"];
    let xattr_prefixes = prefixes.map(|prefix| prefix.as_bytes().to_vec()).to_vec();
    options.with(|o| o.attributes.xattr_prefixes = xattr_prefixes)
}

/// The same with the metadata before the content.
#[must_use]
pub fn with_metadata_first(options: Options) -> Options {
    options.with(|o| o.layout.metadata_first = true)
}

/// The same in the 48-bit layout, with directories that leave their `.` out.
#[must_use]
pub fn with_48_bits(options: Options) -> Options {
    options.with(|o| {
        o.layout.wide = true;
        o.layout.dot_omitted = true;
    })
}

/// The same with inodes compressed in their own way.
#[must_use]
pub fn with_metabox(options: Options, words: &str, pcluster: u32) -> Options {
    let compressor = words.parse().unwrap();
    let metabox = Compression { compressor, pcluster: Some(pcluster), min_saving: 0 };
    options.with(|o| o.compression.metabox = Some(metabox))
}

/// The same with an extent record for each pcluster.
#[must_use]
pub fn with_records(options: Options) -> Options {
    options.with(|o| o.compression.index = IndexForm::Records)
}

/// The resources that an image is built with; by default those of a user's build.
#[derive(Clone, Copy, Debug, Default)]
pub struct Means {
    workers: Option<NonZeroUsize>,
    memory: Option<usize>,
}

/// To build with this many workers.
#[must_use]
pub fn workers(workers: usize) -> Means {
    Means { workers: NonZeroUsize::new(workers), memory: None }
}

impl Means {
    /// The same with this many bytes of memory.
    #[must_use]
    pub fn memory(self, bytes: usize) -> Self {
        Self { memory: Some(bytes), ..self }
    }

    /// Builds without reading back, into a new file at `path`.
    #[expect(clippy::must_use_candidate, reason = "it is called for the file")]
    pub fn build_at(self, path: &Path, fs: Filesystem<'_>, options: &Options) -> Report {
        let mut file = File::options();
        let file = file.read(true).write(true).create(true).truncate(true).open(path).unwrap();
        let mut context = Context::new(path.parent().unwrap());
        context.workers = self.workers.unwrap_or(context.workers);
        context.memory = self.memory.unwrap_or(context.memory);
        lith_builder::build(fs, (&file).into(), options, &context).unwrap().report
    }

    /// The bytes of an image, built without reading back.
    #[must_use]
    pub fn build(self, fs: Filesystem<'_>, options: &Options) -> Vec<u8> {
        let folder = crate::place::folder();
        let path = folder.path().join("image");
        self.build_at(&path, fs, options);
        fs::read(path).unwrap()
    }

    /// Builds as users do, from a directory: read back, then put into place.
    #[must_use]
    pub fn build_directory(self, folder: &Path, image: &Path, options: &Options) -> Report {
        self.builder(directory(folder), options).build_to(image).unwrap().report
    }

    /// A build as users do it.
    pub fn builder(self, source: Source, options: &Options) -> Builder<'static> {
        let options = options.clone();
        let mut builder = Builder::source(source).options(|o| *o = options).force(true);
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        if let Some(memory) = self.memory {
            builder = builder.memory(memory);
        }
        builder
    }
}

/// Builds without reading back, into a new file at `path`.
#[expect(clippy::must_use_candidate, reason = "it is called for the file")]
pub fn build_at(path: &Path, fs: Filesystem<'_>, options: &Options) -> Report {
    Means::default().build_at(path, fs, options)
}

/// The bytes of an image, built without reading back.
#[must_use]
pub fn build(fs: Filesystem<'_>, options: &Options) -> Vec<u8> {
    Means::default().build(fs, options)
}

/// Builds as users do, from a directory: read back, then put into place.
#[must_use]
pub fn build_directory(folder: &Path, image: &Path, options: &Options) -> Report {
    Means::default().build_directory(folder, image, options)
}

/// A build of a source as users do it.
pub fn builder(source: Source, options: &Options) -> Builder<'static> {
    Means::default().builder(source, options)
}

/// Gives the files of a tree the digests that an image with these options shows.
pub fn add_digests(tree: &mut Tree, contents: &dyn Contents, options: &Options) {
    let Some(name) = &options.attributes.digest_xattr else { return };
    if name.starts_with(b"user.") {
        record_digests(tree, contents, name, NonZeroUsize::new(2).unwrap()).unwrap();
    }
}

/// The tree in a directory.
#[must_use]
pub fn directory(folder: &Path) -> Source {
    source::directory(folder, &source::Options::default()).unwrap()
}

/// The tree in an image.
#[must_use]
pub fn open(path: &Path) -> Source {
    from_image(Image::open(FileDevice::open(path).unwrap()).unwrap(), path)
}

/// The devices of an image, the first first.
#[must_use]
pub fn devices(image: &Path, others: &[PathBuf]) -> Vec<Box<dyn ReadAt>> {
    let open = |path: &Path| Box::new(FileDevice::open(path).unwrap()) as Box<dyn ReadAt>;
    iter::once(image).chain(others.iter().map(PathBuf::as_path)).map(open).collect()
}

/// The tree in an image on several devices.
#[must_use]
pub fn open_with(image: &Path, others: &[PathBuf]) -> Source {
    let devices = devices(image, others);
    from_image(Image::open_with(devices, reader::Options::default()).unwrap(), image)
}

/// The tree in the bytes of an image.
#[must_use]
pub fn open_bytes(bytes: Vec<u8>) -> Source {
    from_image(Image::open(MemoryDevice::new(bytes)).unwrap(), Path::new("image"))
}

fn from_image(image: Image, path: &Path) -> Source {
    source::image(Arc::new(image), path, &source::Options::default()).unwrap()
}

/// The SHA-256 of bytes in hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
