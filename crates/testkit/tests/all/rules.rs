//! Each file is compressed as its rule requires, and the superblock names what is used and no more.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::collections::BTreeSet;

use lith::{
    builder::{Compression, Files, Fragments, Options, Rule},
    codec::Compressor,
    device::MemoryDevice,
    format::compression::Algorithm,
    reader::{ExtentKind, Image},
    tree::{Filesystem, InodeIndex, MemoryContents, Metadata, Name, Tree},
};
use lith_testkit::{
    compare, image,
    noise::{self, Texture},
    rules,
};

fn rule(end: &'static str, compression: Option<Compression>) -> Rule {
    Rule {
        files: Files::new(move |path| path.ends_with(end.as_bytes())),
        compression,
        second: None,
    }
}

/// Files with these names, all of the same bytes.
fn files(names: &[&str], bytes: &[u8]) -> (Tree, MemoryContents) {
    let mut tree = Tree::new(Metadata::default());
    let mut contents = MemoryContents::default();
    for name in names {
        let name = Name::new(name.as_bytes()).unwrap();
        contents.add(&mut tree, (InodeIndex::ROOT, name), Metadata::default(), bytes).unwrap();
    }
    (tree, contents)
}

fn open((tree, contents): &(Tree, MemoryContents), options: &Options) -> Image {
    let bytes = image::build(Filesystem::new(tree, contents), options);
    let read = image::open_bytes(bytes.clone());
    compare::assert_same(
        Filesystem::new(tree, contents),
        read.filesystem(),
        &format!("{options:?}"),
    );
    Image::open(MemoryDevice::new(bytes)).unwrap()
}

/// The algorithms of a file's extents.
fn algorithms(image: &Image, path: &str) -> Vec<Algorithm> {
    let algorithm = |kind| match kind {
        ExtentKind::Compressed { algorithm, .. } => Some(algorithm),
        _ => None,
    };
    let all: BTreeSet<_> = kinds(image, path).into_iter().filter_map(algorithm).collect();
    all.into_iter().collect()
}

fn kinds(image: &Image, path: &str) -> Vec<ExtentKind> {
    let inode = image.resolve(path.as_bytes()).unwrap();
    image.extents(&inode).unwrap().map(|extent| extent.unwrap().kind).collect()
}

fn declared(image: &Image) -> Vec<Algorithm> {
    image.superblock().algorithms.iter_known().collect()
}

#[test]
fn the_first_rule_counts_and_equal_files_are_shared_only_under_the_same_one() {
    let source = files(&["a.lzma", "a.lz4", "b.lz4", "c", "d.none", "e.lzma"], &text(300_000));
    let lzma = rules::by("lzma,1".parse().unwrap(), 1 << 18);
    let rules = vec![
        rule(".none", None),
        rule(".lzma", lzma),
        rule("a.lz4", rules::by(Compressor::Lz4, 8192)),
        rule(".lz4", rules::by(image::lz4hc(4), 8192)),
        rule("", rules::by("zstd,1".parse().unwrap(), 65536)),
    ];
    let options = image::compressed("deflate,1".parse().unwrap(), 65536)
        .with(|o| o.compression.rules = rules);
    let image = open(&source, &options);
    for (path, expected) in [
        ("a.lzma", &[Algorithm::Lzma][..]),
        ("a.lz4", &[Algorithm::Lz4]),
        ("b.lz4", &[Algorithm::Lz4]),
        ("c", &[Algorithm::Zstd]),
        ("d.none", &[]),
        ("e.lzma", &[Algorithm::Lzma]),
    ] {
        assert_eq!(algorithms(&image, path), expected, "{path}");
    }
    let first = |path: &str| {
        let inode = image.resolve(path.as_bytes()).unwrap();
        image.extents(&inode).unwrap().next().unwrap().unwrap().place
    };
    assert_eq!(first("a.lzma"), first("e.lzma"));
    assert_ne!(first("a.lz4"), first("b.lz4"));
    // What -z would have used is used by none.
    assert_eq!(declared(&image), [Algorithm::Lz4, Algorithm::Lzma, Algorithm::Zstd]);
}

#[test]
fn records_hold_the_most_that_is_used() {
    let source = files(&["a", "b", "c", "d"], &text(300_000));
    let zstd = |pcluster| rules::by("zstd,1".parse().unwrap(), pcluster);
    let rules = vec![
        rule("a", rules::by(Compressor::Lz4, 32768)),
        rule("b", zstd(4096)),
        rule("c", zstd(8192)),
        // For no file, so none of its parameters count.
        rule("x", zstd(65536)),
        rule("y", rules::by("lzma,1".parse().unwrap(), 4096)),
    ];
    let image = open(
        &source,
        &image::compressed(image::lz4hc(5), 4096).with(|o| o.compression.rules = rules),
    );
    let configs = image.configs();
    assert_eq!(configs.lz4.unwrap().max_pcluster_blocks, 8);
    assert_eq!(configs.zstd.unwrap().window_log, 16);
    assert_eq!(declared(&image), [Algorithm::Lz4, Algorithm::Zstd]);
}

#[test]
fn inodes_are_compressed_in_their_own_way_whatever_the_rules_say() {
    let names: Vec<String> = (0..2000).map(|number| format!("{number:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let source = files(&names, b"");
    let zstd = rules::by("zstd,1".parse().unwrap(), 65536);
    let options = image::plain().with(|o| o.compression.rules = vec![rule("", zstd)]);
    // No file is compressed, but inodes are.
    let image = open(&source, &image::with_metabox(options, "lz4hc,5", 8192));
    assert_eq!(declared(&image), [Algorithm::Lz4]);
    assert_eq!(image.configs().lz4.unwrap().max_pcluster_blocks, 2);

    let (mut tree, mut contents) = source;
    let place = (InodeIndex::ROOT, Name::new(b"text").unwrap());
    contents.add(&mut tree, place, Metadata::default(), text(300_000)).unwrap();
    let source = (tree, contents);
    let lzma = rules::by("lzma,1".parse().unwrap(), 65536);
    let lz4 = image::compressed(Compressor::Lz4, 16384);
    let options = lz4.with(|o| o.compression.rules = vec![rule("text", lzma)]);
    let image = open(&source, &image::with_metabox(options, "zstd,3", 8192));
    assert_eq!(algorithms(&image, "text"), [Algorithm::Lzma]);
    assert_eq!(declared(&image), [Algorithm::Lzma, Algorithm::Zstd]);
}

#[test]
fn only_what_is_stored_like_the_packed_inode_lies_there() {
    let source = files(&["a.so", "b.txt", "c.txt", "d.lz4"], &text(9000));
    let lz4 = Compression { compressor: Compressor::Lz4, pcluster: None, min_saving: 0 };
    let rules = vec![
        rule(".so", rules::by("zstd,1".parse().unwrap(), 65536)),
        rule("c.txt", None),
        rule(".lz4", Some(lz4)),
    ];
    for fragments in [Fragments::Tails, Fragments::All] {
        let options = image::plain().with(|o| {
            o.compression.files = Some(lz4);
            o.compression.rules = rules.clone();
        });
        let image = open(&source, &image::with_packing(options, fragments, true));
        let is_fragment = |path| kinds(&image, path) == [ExtentKind::Fragment];
        let packed = ["a.so", "b.txt", "c.txt", "d.lz4"].map(is_fragment);
        assert_eq!(packed, [false, true, false, true], "{fragments:?}");
        assert_eq!(algorithms(&image, "a.so"), [Algorithm::Zstd]);
        assert_eq!(declared(&image), [Algorithm::Lz4, Algorithm::Zstd]);
    }
}

#[test]
fn each_pcluster_is_of_the_algorithm_that_holds_more() {
    // LZ4 finds nothing in bytes of which only some values occur; in what repeats itself it gains as much as others.
    let few: Vec<u8> = noise::bytes(Texture::Noise, 5, 400_000).iter().map(|b| b & 15).collect();
    let same = noise::bytes(Texture::Noise, 6, 3000).repeat(300);
    let bytes = [&same[..], &few, &same].concat();
    let source = files(&["a"], &bytes);
    for full in [false, true] {
        let options = rules::with_two(image::plain(), ["lz4hc,12", "zstd,3"], 16384);
        let options = if full { image::with_full_index(options) } else { options };
        let image = open(&source, &options);
        assert_eq!(algorithms(&image, "a"), [Algorithm::Lz4, Algorithm::Zstd]);
        assert_eq!(declared(&image), [Algorithm::Lz4, Algorithm::Zstd]);
        let size = |name: &str| {
            let options = image::compressed(name.parse().unwrap(), 16384);
            open(&source, &options).superblock().blocks
        };
        let (both, lz4, zstd) = (image.superblock().blocks, size("lz4hc,12"), size("zstd,3"));
        assert!(both * 10 < lz4 * 9 && both * 10 < zstd * 11, "{both}, {lz4}, {zstd}");
    }
}

#[test]
fn an_algorithm_that_makes_no_pcluster_is_not_declared() {
    let few: Vec<u8> = noise::bytes(Texture::Noise, 5, 400_000).iter().map(|b| b & 15).collect();
    let source = files(&["a"], &few);
    for (both, expected) in
        [(["lz4", "zstd,3"], Algorithm::Zstd), (["zstd,3", "lz4"], Algorithm::Zstd)]
    {
        let image = open(&source, &rules::with_two(image::plain(), both, 65536));
        assert_eq!((algorithms(&image, "a"), declared(&image)), (vec![expected], vec![expected]));
    }
}

fn text(length: usize) -> Vec<u8> {
    noise::bytes(Texture::Text, 1, length)
}
