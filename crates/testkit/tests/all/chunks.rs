//! Images with chunk-based files hold what their source holds, and each chunk once.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::fs;

use lith::{
    builder::Options,
    check,
    codec::Compressor,
    device::MemoryDevice,
    source::Source,
    tree::{InodeIndex, MemoryContents, Metadata, Name, Tree},
};
use lith_testkit::{
    chunks, compare, image,
    noise::{self, Texture},
    oracle::kernel,
    place, recipe,
};

fn assert_sound(bytes: Vec<u8>, name: &str) {
    let how = check::Options::default();
    let device = Box::new(MemoryDevice::new(bytes));
    let report = check::check_devices(vec![device], &how, &()).unwrap();
    assert!(report.findings.is_empty(), "{name}: {:?}", report.findings.first());
}

/// Builds by one worker and by three, and looks at the image.
fn assert_holds(source: &Source, kind: (String, Options)) -> u64 {
    let (name, options) = kind;
    let folder = place::folder();
    let path = folder.path().join("image");
    image::workers(1).build_at(&path, source.filesystem(), &options);
    let one = fs::read(&path).unwrap();
    image::workers(3).build_at(&path, source.filesystem(), &options);
    assert!(fs::read(&path).unwrap() == one, "{name}: three workers build another image");
    let read = image::open(&path);
    compare::assert_same(source.filesystem(), read.filesystem(), &name);
    if let Some(mounted) = kernel::mount(&path) {
        compare::assert_same(source.filesystem(), mounted.tree().filesystem(), &name);
        mounted.read_at_random(source.filesystem(), 9);
    }
    let size = one.len() as u64;
    assert_sound(one, &name);
    size
}

#[test]
fn random_trees_in_every_kind_of_chunks() {
    for seed in [3, 4] {
        let recipe = recipe::from_bytes(&noise::bytes(Texture::Noise, seed, 4000));
        let (tree, contents) = recipe.as_linux_allows().follow();
        let source = Source { tree, contents: Box::new(contents), notes: Vec::new() };
        for kind in chunks::kinds() {
            assert_holds(&source, kind);
        }
    }
}

/// Files of several pieces, some of which compression gives up on, with much that comes again.
#[test]
fn large_files_share_chunks_across_their_pieces() {
    let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    let mut add = |name: &str, bytes: Vec<u8>| {
        let name = (InodeIndex::ROOT, Name::new(name.as_bytes()).unwrap());
        contents.add(&mut tree, name, Metadata::default(), bytes).unwrap();
    };
    let random = noise::bytes(Texture::Noise, 1, 20 << 20);
    add("again", [&random[4 << 20..], &vec![0; 2 << 20], &random[..4 << 20], b"tail"].concat());
    add("rotated", [&random[8 << 20..], &random[..8 << 20]].concat());
    add("random", random);
    add("small", b"small".to_vec());
    add("text", noise::bytes(Texture::Text, 2, 3 << 20));
    let source = Source { tree, contents: Box::new(contents), notes: Vec::new() };
    let named = |name: &str, options| (name.to_owned(), options);
    for size in [4 << 10, 64 << 10, 2 << 20] {
        let kind = named("plain", chunks::with(image::plain(), size));
        let stored = assert_holds(&source, kind);
        assert!((23 << 20..(23 << 20) + (200 << 10)).contains(&stored), "{stored}");
    }
    let lz4 = image::compressed(Compressor::Lz4, 64 << 10);
    let stored = assert_holds(&source, named("lz4", chunks::with(lz4, 4 << 10)));
    // What has zeros is compressed, the other two share chunks.
    assert!((40 << 20..43 << 20).contains(&stored), "{stored}");
}
