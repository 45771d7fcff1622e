//! Options for images with chunk-based files.

use lith::{
    builder::{ChunkForm, Chunks, Fragments, Options},
    codec::Compressor,
};

use crate::image;

/// The same with files in chunks of so many bytes, as far as they are not compressed.
#[must_use]
pub fn with(options: Options, size: u32) -> Options {
    with_form(options, size, ChunkForm::Smallest)
}

fn with_form(options: Options, size: u32, form: ChunkForm) -> Options {
    options.with(|o| o.layout.chunks = Some(Chunks { size, form }))
}

/// Images with chunks, each with its name.
#[must_use]
pub fn kinds() -> Vec<(String, Options)> {
    let (plain, kib) = (image::plain, |kib: u32| kib << 10);
    let lz4 = image::compressed(Compressor::Lz4, kib(4));
    let packed = image::with_packing(lz4.clone(), Fragments::Tails, true);
    let unshared = with(plain(), kib(4)).with(|o| o.layout.share_duplicates = false);
    let all = [
        ("plain, chunks 4K", with(plain(), kib(4))),
        ("plain, chunks 64K", with_form(plain(), kib(64), ChunkForm::BlockMap)),
        ("plain, chunks 4K, indexes", with_form(plain(), kib(4), ChunkForm::Indexes)),
        ("plain, chunks 2M", with(plain(), kib(2048))),
        ("plain, chunks 1G", with(plain(), 1 << 30)),
        ("plain, chunks 4K, none shared", unshared),
        ("plain, chunks 512, blocks of 512", with(image::with_blocks(plain(), 9), 512)),
        ("plain, chunks 8K, 48 bits", with(image::with_48_bits(plain()), kib(8))),
        ("plain, chunks 4K, metabox zstd", {
            with(image::with_metabox(plain(), "zstd,3", kib(4)), kib(4))
        }),
        ("lz4 4K, chunks 4K", with(lz4, kib(4))),
        ("lz4 4K, fragments, tail packing, chunks 16K", with(packed, kib(16))),
    ];
    all.map(|(name, options)| (name.to_owned(), options)).into()
}
