//! An image names the attribute with the digests of its files, and Linux and the check accept that.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{fs, num::NonZeroUsize};

use lith::{
    builder::{Fragments, Options},
    check, check_digests,
    codec::Compressor,
    device::MemoryDevice,
    digest_name,
    format::{
        features::{Compat, Incompat},
        kernel::KernelVersion,
    },
    reader::Image,
    source::Source,
    transform::{DIGEST_NAME, record_digests},
    tree::{Filesystem, InodeIndex, MemoryContents, Metadata, Name, Tree, Xattr},
};
use lith_testkit::{
    compare, image,
    noise::{self, Texture},
    oracle::kernel,
    place, recipe,
};

const WORKERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);
/// Names that Linux hides, and names that it shows.
const NAMES: [&[u8]; 4] = [DIGEST_NAME, b"digest", b"user.name.sha256", b"trusted.digest"];

/// A tree with a bit of everything.
fn source() -> Source {
    let bytes = noise::bytes(Texture::Noise, 1, 6000);
    let (tree, contents) = recipe::from_bytes(&bytes).as_linux_allows().follow();
    Source { tree, contents: Box::new(contents), notes: Vec::new() }
}

/// Images whose prefixes lie in different places, with digests named so.
fn kinds(name: &[u8]) -> [Options; 4] {
    let packed = image::compressed(Compressor::Lz4, 16 << 10);
    let packed = image::with_prefixes(image::with_packing(packed, Fragments::Tails, true));
    let boxed = image::with_metabox(packed.clone(), "zstd,3", 4 << 10);
    let old = packed.clone().with(|o| o.kernel = KernelVersion::new(6, 4));
    [image::plain(), packed, boxed, old]
        .map(|options| options.with(|o| o.attributes.digest_xattr = Some(name.into())))
}

#[test]
fn digests_are_found_by_their_name_and_right() {
    for name in NAMES {
        let mut source = source();
        record_digests(&mut source.tree, &*source.contents, name, WORKERS).unwrap();
        for options in kinds(name) {
            let bytes = image::build(source.filesystem(), &options);
            let again = image::workers(3).build(source.filesystem(), &options);
            assert!(bytes == again);
            let image = Image::open(MemoryDevice::new(bytes.clone())).unwrap();
            assert_eq!(digest_name(&image).unwrap(), name);
            assert_eq!(check_digests(&image, name, WORKERS).unwrap(), []);
            let superblock = image.superblock();
            assert!(superblock.compat.contains(Compat::ISHARE_XATTRS));
            assert!(superblock.incompat.contains(Incompat::XATTR_PREFIXES));
            let how = check::Options::default();
            let device = Box::new(MemoryDevice::new(bytes));
            let report = check::check_devices(vec![device], &how, &()).unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
        }
    }
}

#[test]
fn linux_shows_digests_whose_names_have_a_namespace() {
    if !kernel::is_there() {
        return;
    }
    let folder = place::folder();
    let path = folder.path().join("image");
    for name in NAMES {
        let mut with = source();
        record_digests(&mut with.tree, &*with.contents, name, WORKERS).unwrap();
        let is_shown = name.starts_with(b"user.") || name.starts_with(b"trusted.");
        let expected = if is_shown { &with } else { &source() };
        for options in kinds(name) {
            image::build_at(&path, with.filesystem(), &options);
            let mounted = kernel::mount(&path).unwrap();
            let what = format!("{}, {options:?}", name.escape_ascii());
            compare::assert_same(expected.filesystem(), mounted.tree().filesystem(), &what);
            mounted.assert_stats(&with.tree);
            drop(mounted);
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn an_image_without_files_says_it_too() {
    let (tree, contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    for options in kinds(DIGEST_NAME) {
        let bytes = image::build(Filesystem::new(&tree, &contents), &options);
        let image = Image::open(MemoryDevice::new(bytes)).unwrap();
        assert_eq!(digest_name(&image).unwrap(), DIGEST_NAME);
        assert_eq!(check_digests(&image, DIGEST_NAME, WORKERS).unwrap(), []);
    }
}

#[test]
fn an_old_digest_is_replaced() {
    let name = b"user.digest";
    let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    let old = Xattr { name: name.as_slice().into(), value: b"old".as_slice().into() };
    let metadata = Metadata { xattrs: tree.xattrs.intern(vec![old]), ..Metadata::default() };
    let at = (InodeIndex::ROOT, Name::new(b"file").unwrap());
    contents.add(&mut tree, at, metadata, b"content".as_slice()).unwrap();
    let mut source = Source { tree, contents: Box::new(contents), notes: Vec::new() };
    record_digests(&mut source.tree, &*source.contents, name, WORKERS).unwrap();
    let options = image::plain().with(|o| o.attributes.digest_xattr = Some(name.into()));
    let image = image::build(source.filesystem(), &options);
    let image = Image::open(MemoryDevice::new(image)).unwrap();
    assert_eq!(check_digests(&image, name, WORKERS).unwrap(), []);
}

#[test]
fn a_prefix_is_not_taken_for_the_name_of_digests() {
    let mut tree = Tree::new(Metadata::default());
    let xattr = Xattr { name: b"user.name".as_slice().into(), value: b"1".as_slice().into() };
    let xattrs = tree.xattrs.intern(vec![xattr]);
    tree.get_mut(InodeIndex::ROOT).metadata.xattrs = xattrs;
    let build = |options: &Options| {
        let bytes = image::build(Filesystem::new(&tree, &MemoryContents::default()), options);
        Image::open(MemoryDevice::new(bytes)).unwrap()
    };
    let name = b"user.name".to_vec();
    let prefix = build(&image::plain().with(|o| o.attributes.xattr_prefixes = vec![name.clone()]));
    let digest = build(&image::plain().with(|o| o.attributes.digest_xattr = Some(name)));
    assert_eq!(digest_name(&prefix), None);
    assert_eq!(prefix.xattr_prefixes(), digest.xattr_prefixes());
    assert_ne!(prefix.superblock().uuid, digest.superblock().uuid);
}

#[test]
fn names_that_cannot_be_and_kernels_that_do_not_read_them_are_refused() {
    let refused = |name: &[u8], options: Options| {
        let options = options.with(|o| o.attributes.digest_xattr = Some(name.into()));
        options.check().unwrap_err().to_string()
    };
    for name in [b"".as_slice(), b"user.", b"system.posix_acl_access", &[b'x'; 256]] {
        let said = refused(name, image::plain());
        assert!(said.contains("name of digests"), "{said}");
    }
    let kernel = KernelVersion::new(6, 3);
    assert!(refused(DIGEST_NAME, image::plain().with(|o| o.kernel = kernel)).contains("6.4"));
    let xattr_prefixes = vec![b"user.name".to_vec(); 128];
    let said =
        refused(DIGEST_NAME, image::plain().with(|o| o.attributes.xattr_prefixes = xattr_prefixes));
    assert!(said.contains("at most 128"), "{said}");
}
