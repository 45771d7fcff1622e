//! Options for each choice of layout.

use lith::{
    builder::{Fragments, InodeForm, Options},
    codec::Compressor,
    format::kernel::KernelVersion,
    transform::DIGEST_NAME,
    tree::Timestamp,
};

use crate::image;

/// When the images are made whose build time is given.
pub const BUILT: Timestamp = Timestamp { sec: 1_700_000_000, nsec: 0 };

/// Images with one choice of layout each that is not the usual one, each with its name.
#[must_use]
pub fn kinds() -> Vec<(String, Options)> {
    let all = blocks().into_iter().chain(inodes());
    all.map(|(name, options)| (name.to_owned(), options)).collect()
}

fn packed(options: Options) -> Options {
    image::with_packing(options, Fragments::Tails, true)
}

/// Pclusters of 16 KiB, fragments, long prefixes.
fn prefixed() -> Options {
    image::with_prefixes(packed(image::compressed(Compressor::Lz4, 16 << 10)))
}

/// Choices of extents and of where blocks begin.
fn blocks() -> [(&'static str, Options); 10] {
    let plain = image::plain();
    let boxed = image::with_metabox(prefixed(), "zstd,3", 4 << 10);
    let pcluster = |bytes| prefixed().with(|o| o.compression.packed_pcluster = Some(bytes));
    let dedupe =
        image::with_packing(image::compressed(image::lz4hc(5), 64 << 10), Fragments::Tails, false);
    let short = |most, options: Options| {
        options.with(|o| {
            o.compression.dedupe = true;
            o.compression.max_extent = Some(most);
        })
    };
    let aligned = |blocks, options: Options| {
        options.with(|o| {
            o.layout.alignment = blocks;
            o.layout.size_alignment = blocks.into();
        })
    };
    let small = image::with_blocks(image::compressed(Compressor::Lz4, 2048), 9);
    [
        ("lz4 16K, fragments of 4K", pcluster(4 << 10)),
        ("lz4 16K, fragments of 1M", pcluster(1 << 20)),
        ("lz4 512, short extents", short(1300, small.clone())),
        ("lz4hc 64K, fragments, short extents", short(9000, dedupe.clone())),
        ("lz4hc 64K, short extents, records", image::with_records(short(70_000, dedupe.clone()))),
        ("plain, aligned", aligned(7, plain.clone())),
        ("plain, chunks 16K, aligned", aligned(3, crate::chunks::with(plain, 16 << 10))),
        ("lz4hc 64K, fragments, aligned", aligned(16, dedupe)),
        ("lz4 512, aligned", aligned(100, small)),
        ("lz4 16K, metabox, aligned", aligned(512, boxed)),
    ]
}

/// Choices of inodes and what is beside them.
fn inodes() -> [(&'static str, Options); 15] {
    let (plain, packed) = (image::plain(), prefixed());
    let lz4 = image::compressed(Compressor::Lz4, 16 << 10);
    let wide = image::with_48_bits(plain.clone());
    let bare = |options: Options| options.with(|o| o.layout.inline_data = false);
    let extended =
        |options: Options| options.with(|o| o.attributes.inode_form = InodeForm::Extended);
    let made = |options: Options| options.with(|o| o.identity.build_time = Some(BUILT));
    let old = packed.clone().with(|o| o.kernel = KernelVersion::new(6, 4));
    let boxed = image::with_metabox(packed.clone(), "zstd,3", 4 << 10);
    let unshared = |options: Options| {
        options.with(|o| {
            o.attributes.share_xattrs = None;
            o.attributes.xattr_filter = false;
        })
    };
    let digests = |name: &[u8], options: Options| {
        options.with(|o| o.attributes.digest_xattr = Some(name.into()))
    };
    let roomy = |size, options: Options| {
        options.with(|o| {
            o.attributes.root_xattr_size = size;
            o.identity.checksum = false;
        })
    };
    let all_shared = plain.clone().with(|o| o.attributes.share_xattrs = Some(0));
    let plain_prefixes = packed.clone().with(|o| o.attributes.plain_xattr_prefixes = true);
    [
        ("plain, no xattrs shared, no filter", unshared(plain.clone())),
        ("plain, all xattrs shared", all_shared),
        ("plain, a little room in the root, no checksum", roomy(300, plain.clone())),
        ("lz4 16K, fragments, much room in the root", roomy(70_000, packed)),
        ("lz4 16K, metabox, no xattrs shared, room in the root", roomy(5000, unshared(boxed))),
        ("lz4 16K, fragments, plain prefixes", plain_prefixes),
        ("plain, digests", digests(b"user.name", plain.clone())),
        ("lz4 16K, fragments, hidden digests", digests(DIGEST_NAME, old)),
        ("plain, not inline", bare(plain.clone())),
        ("lz4 16K, not inline", bare(lz4.clone())),
        ("plain, extended inodes", extended(plain.clone())),
        ("lz4 16K, extended inodes", extended(lz4)),
        ("plain, 48 bits, extended inodes", extended(wide.clone())),
        ("plain, build time", made(plain)),
        ("plain, 48 bits, build time", made(wide)),
    ]
}
