//! Which choices of layout are images built with in a test?

use lith::{
    DIGEST_NAME,
    builder::{Fragments, InodeForm, Options},
    codec::Compressor,
    format::kernel::KernelVersion,
    tree::Timestamp,
};

use crate::image;

/// When the images are made whose build time is given.
pub const BUILT: Timestamp = Timestamp { sec: 1_700_000_000, nsec: 0 };

/// Images with one choice of layout each that is not the usual one, each with its name.
#[must_use]
pub fn kinds() -> Vec<(String, Options)> {
    let plain = image::plain();
    let lz4 = image::compressed(Compressor::Lz4, 16 << 10);
    let wide = image::with_48_bits(plain.clone());
    let bare = |options| Options { inline_data: false, ..options };
    let extended = |options| Options { inode_form: InodeForm::Extended, ..options };
    let made = |options| Options { build_time: Some(BUILT), ..options };
    let packed = |options| image::with_packing(options, Fragments::Tails, true);
    let packed = image::with_prefixes(packed(lz4.clone()));
    let old = Options { kernel: KernelVersion::new(6, 4), ..packed.clone() };
    let boxed = image::with_metabox(packed.clone(), "zstd,3", 4 << 10);
    let unshared = |options| Options { share_xattrs: None, xattr_filter: false, ..options };
    let digests = |name: &[u8], options| Options { digest_xattr: Some(name.into()), ..options };
    let roomy = |size, options| Options { root_xattr_size: size, checksum: false, ..options };
    let pcluster = |bytes| Options { packed_pcluster: Some(bytes), ..packed.clone() };
    let dedupe =
        image::with_packing(image::compressed(image::lz4hc(5), 64 << 10), Fragments::Tails, false);
    let short = |most, options| Options { dedupe: true, max_extent: Some(most), ..options };
    let aligned =
        |blocks, options| Options { alignment: blocks, size_alignment: blocks.into(), ..options };
    let small = image::with_blocks(image::compressed(Compressor::Lz4, 2048), 9);
    let all = [
        ("lz4 16K, fragments of 4K", pcluster(4 << 10)),
        ("lz4 16K, fragments of 1M", pcluster(1 << 20)),
        ("lz4 512, short extents", short(1300, small.clone())),
        ("lz4hc 64K, fragments, short extents", short(9000, dedupe.clone())),
        ("lz4hc 64K, short extents, records", image::with_records(short(70_000, dedupe.clone()))),
        ("plain, aligned", aligned(7, plain.clone())),
        ("plain, chunks 16K, aligned", aligned(3, crate::chunks::with(plain.clone(), 16 << 10))),
        ("lz4hc 64K, fragments, aligned", aligned(16, dedupe)),
        ("lz4 512, aligned", aligned(100, small)),
        ("lz4 16K, metabox, aligned", aligned(512, boxed.clone())),
        ("plain, no xattrs shared, no filter", unshared(plain.clone())),
        ("plain, all xattrs shared", Options { share_xattrs: Some(0), ..plain.clone() }),
        ("plain, a little room in the root, no checksum", roomy(300, plain.clone())),
        ("lz4 16K, fragments, much room in the root", roomy(70_000, packed.clone())),
        ("lz4 16K, metabox, no xattrs shared, room in the root", roomy(5000, unshared(boxed))),
        ("lz4 16K, fragments, plain prefixes", Options { plain_xattr_prefixes: true, ..packed }),
        ("plain, digests", digests(b"user.name", plain.clone())),
        ("lz4 16K, fragments, hidden digests", digests(DIGEST_NAME, old)),
        ("plain, not inline", bare(plain.clone())),
        ("lz4 16K, not inline", bare(lz4.clone())),
        ("plain, extended inodes", extended(plain.clone())),
        ("lz4 16K, extended inodes", extended(lz4)),
        ("plain, 48 bits, extended inodes", extended(wide.clone())),
        ("plain, build time", made(plain)),
        ("plain, 48 bits, build time", made(wide)),
    ];
    all.map(|(name, options)| (name.to_owned(), options)).into()
}
