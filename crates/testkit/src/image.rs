//! How is an image made, opened and read in a test?

use std::{
    fs::{self, File},
    num::NonZeroUsize,
    path::Path,
    sync::Arc,
};

use lith::{
    BuildOptions,
    builder::{Compression, Fragments, IndexForm, Options, Progress, Report},
    codec::Compressor,
    device::{FileDevice, MemoryDevice},
    format::{addr::BlockBits, kernel::KernelVersion},
    reader::Image,
    source::{self, Source},
    tree::{Contents, Tree},
};
use sha2::{Digest, Sha256};

/// A kernel that reads everything.
pub const NEWEST: KernelVersion = KernelVersion::new(6, 18);

/// How an image is made, in few words: no compression, blocks of 4 KiB.
#[must_use]
pub fn plain() -> Options {
    Options { kernel: NEWEST, ..Options::default() }
}

/// Compression with pclusters of so many bytes.
#[must_use]
pub fn compressed(compressor: Compressor, pcluster: u32) -> Options {
    let compression = Compression { compressor, pcluster: Some(pcluster), min_saving: 0 };
    Options { compression: Some(compression), ..plain() }
}

/// LZ4HC of an effort.
#[must_use]
pub const fn lz4hc(level: u8) -> Compressor {
    Compressor::Lz4Hc { level }
}

/// The same with other block sizes.
#[must_use]
pub fn with_blocks(options: Options, bits: u8) -> Options {
    Options { block: BlockBits::new(bits).unwrap(), ..options }
}

/// The same with so many workers.
#[must_use]
pub fn with_workers(options: Options, workers: usize) -> Options {
    Options { workers: NonZeroUsize::new(workers).unwrap(), ..options }
}

/// The same with full indexes.
#[must_use]
pub fn with_full_index(options: Options) -> Options {
    Options { index: IndexForm::Full, ..options }
}

/// The same with ends of files beside their inodes, in the packed inode, or with all of every file there.
#[must_use]
pub fn with_packing(options: Options, fragments: Fragments, tail_packing: bool) -> Options {
    Options { fragments, tail_packing, ..options }
}

/// Every kind of image that there is, each with its name, for page sizes up to `most` bits.
#[must_use]
pub fn matrix(most: u8) -> Vec<(String, Options)> {
    let mut all = vec![("plain".to_owned(), plain())];
    for pcluster in [4 << 10, 16 << 10, 64 << 10, 1 << 20] {
        let kib = pcluster >> 10;
        all.push((format!("lz4 {kib}K"), compressed(Compressor::Lz4, pcluster)));
        all.push((
            format!("lz4 {kib}K full"),
            with_full_index(compressed(Compressor::Lz4, pcluster)),
        ));
        let level = if pcluster == 64 << 10 { 12 } else { 5 };
        all.push((format!("lz4hc,{level} {kib}K"), compressed(lz4hc(level), pcluster)));
    }
    for words in ["lzma,1", "lzma,100", "deflate,1", "deflate,9", "zstd,1", "zstd,15"] {
        for pcluster in [4 << 10, 64 << 10] {
            let options = compressed(words.parse().unwrap(), pcluster);
            all.push((format!("{words} {}K", pcluster >> 10), options.clone()));
            let name = format!("{words} {}K, fragments, tail packing", pcluster >> 10);
            all.push((name, with_packing(options, Fragments::Tails, true)));
        }
    }
    for fragments in [Fragments::None, Fragments::Tails, Fragments::All] {
        for pcluster in [4 << 10, 64 << 10] {
            let options = compressed(Compressor::Lz4, pcluster);
            let name = format!("lz4 {}K, fragments: {fragments:?}, tail packing", pcluster >> 10);
            let options = with_packing(options, fragments, true);
            all.push((format!("{name}, full"), with_full_index(options.clone())));
            all.push((name, options));
        }
    }
    for bits in (9..=most).filter(|bits| *bits != 12) {
        let block = 1_u32 << bits;
        let packed = with_blocks(compressed(Compressor::Lz4, block * 4), bits);
        let packed = with_packing(packed, Fragments::Tails, true);
        all.push((format!("lz4, fragments, tail packing, blocks of {block}"), packed));
        all.push((format!("plain, blocks of {block}"), with_blocks(plain(), bits)));
        for pcluster in [block, (block * 8).min(1 << 20)] {
            let options = with_blocks(compressed(Compressor::Lz4, pcluster), bits);
            all.push((format!("lz4 {pcluster}, blocks of {block}"), options.clone()));
            all.push((format!("lz4 {pcluster} full, blocks of {block}"), with_full_index(options)));
        }
    }
    all
}

/// Builds without reading back, into a new file at `path`.
pub fn build_at(
    path: &Path,
    (tree, contents): (&Tree, &dyn Contents),
    options: &Options,
) -> Report {
    let file =
        File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    let temporary = path.parent().unwrap().to_owned();
    let options = Options { temporary, ..options.clone() };
    let built =
        lith::builder::build(tree, contents, &file, &options, &Progress::default()).unwrap();
    built.report
}

/// The bytes of an image, built without reading back.
#[must_use]
pub fn build(source: (&Tree, &dyn Contents), options: &Options) -> Vec<u8> {
    let folder = crate::place::folder();
    let path = folder.path().join("image");
    build_at(&path, source, options);
    fs::read(path).unwrap()
}

/// Builds as users do, from a directory: read back, then put into place.
#[must_use]
pub fn build_directory(folder: &Path, image: &Path, options: &Options) -> Report {
    let source = directory(folder);
    let how = BuildOptions { image: options.clone(), ..BuildOptions::default() };
    lith::build(source, image, &how, &Progress::default()).unwrap()
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
    Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}
