//! The tree in an image is the tree that it was built from, whatever the tree and the options.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::fs;

use lith::{
    builder::{Fragments, IndexForm, InodeForm, Options},
    check,
    codec::{Compressor, LzmaEffort},
    device::{FileDevice, MemoryDevice, ReadAt},
    format::kernel::KernelVersion,
    source::Source,
    tree::Filesystem,
};
use lith_testkit::{
    chunks, compare, image, matrix, nasty,
    nasty::Nasty,
    noise::{self, Texture},
    place,
    planted::Planted,
    recipe, rules,
};
use proptest::{collection::vec, prelude::*};

fn compressor() -> impl Strategy<Value = Option<Compressor>> {
    prop_oneof![
        Just(None),
        Just(Some(Compressor::Lz4)),
        (1..=12_u8).prop_map(|level| Some(image::lz4hc(level))),
        (1..=12_u8).prop_map(|level| Some(Compressor::Deflate { level })),
        (-7..=19_i8).prop_map(|level| Some(Compressor::Zstd { level, window: None })),
        (0..=9_u8, any::<bool>()).prop_map(|(level, extreme)| {
            let effort = LzmaEffort::new(level);
            Some(Compressor::Lzma(if extreme { effort.extreme() } else { effort }))
        }),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let bits = prop_oneof![4 => Just(12_u8), 3 => 9..=16_u8];
    let fragments =
        prop_oneof![Just(Fragments::None), Just(Fragments::Tails), Just(Fragments::All)];
    let layout = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), fragments);
    let newer = (any::<bool>(), any::<bool>(), 0..12_u8);
    let other = (compressor(), 0..=8_u32);
    let rules = prop_oneof![2 => Just(Vec::new()), 1 => vec(other, 1..5)];
    let chunks = prop_oneof![3 => Just(None), 1 => (0..=9_u32).prop_map(Some)];
    let rules = (rules, compressor(), chunks);
    let rest = (0..40_u8, layouts());
    (compressor(), bits, 0..=8_u32, layout, newer, rest, rules).prop_map(
        |(compressor, bits, larger, layout, newer, rest, (rules, second, chunks))| {
            let (saving, choices) = rest;
            let options = match compressor {
                None => image::plain(),
                Some(compressor) => {
                    image::compressed(compressor, (1 << bits << larger).min(1 << 20))
                }
            };
            let mut options = image::with_blocks(options, bits);
            let (full, fragments);
            let compression = &mut options.compression;
            (
                full,
                compression.tail_packing,
                options.layout.share_duplicates,
                compression.dedupe,
                fragments,
            ) = layout;
            compression.fragments = fragments;
            compression.index = if full { IndexForm::Full } else { IndexForm::Compact };
            let by = |(compressor, larger): (Option<Compressor>, u32)| {
                rules::by(compressor?, (1 << bits << larger).min(1 << 20))
            };
            let parts = u8::try_from(rules.len()).unwrap() + 1;
            let rules = (0..parts).zip(rules);
            compression.rules =
                rules.map(|(number, how)| rules::one_of(parts, number, by(how))).collect();
            for rule in compression.rules.iter_mut().filter(|rule| rule.compression.is_some()) {
                let first = rule.compression.map(|first| first.compressor.algorithm());
                rule.second = second.filter(|second| Some(second.algorithm()) != first);
            }
            if let Some(files) = &mut compression.files {
                files.min_saving = saving;
            }
            let options = with_newer(with_layout(options, choices), newer);
            chunks.map_or(options.clone(), |more| chunks::with(options, 1 << bits << more))
        },
    )
}

/// Choices of layout: two that are made or not; blocks that files are aligned to, copies of xattrs; bytes in the root,
/// blocks of the packed inode's pclusters and of an extent.
type Choices = ((bool, bool), (u32, Option<u32>), (usize, Option<u32>, Option<u32>));

fn layouts() -> impl Strategy<Value = Choices> {
    let shared = prop_oneof![Just(Some(2)), Just(None), (0..4_u32).prop_map(Some)];
    let aligned = prop_oneof![2 => Just(1), 1 => 2..20_u32];
    let room = prop_oneof![2 => Just(0), 1 => 0..5000_usize];
    let size = || prop_oneof![2 => Just(None), 1 => (0..5_u32).prop_map(Some)];
    (any::<(bool, bool)>(), (aligned, shared), (room, size(), size()))
}

fn with_layout(options: Options, choices: Choices) -> Options {
    let ((inline_data, extended), (alignment, share_xattrs), (root_xattr_size, packed, most)) =
        choices;
    let block = options.layout.block.size();
    let packed = packed.filter(|_| options.compression.fragments != Fragments::None);
    options.with(|o| {
        o.layout.inline_data = inline_data;
        o.attributes.inode_form = if extended { InodeForm::Extended } else { InodeForm::Smallest };
        o.layout.alignment = alignment;
        o.layout.size_alignment = alignment.into();
        o.attributes.share_xattrs = share_xattrs;
        o.attributes.xattr_filter = inline_data;
        o.identity.checksum = !extended;
        o.attributes.root_xattr_size = root_xattr_size;
        o.compression.packed_pcluster = packed.map(|larger| block << larger);
        o.compression.max_extent = most.map(|larger| (block << larger) + 1000);
    })
}

/// The same with compressed inodes, and directories packed where that is possible.
fn with_metabox(options: Options, number: u8) -> Options {
    let words = ["lz4", "lzma,1", "deflate,3", "zstd,3"][usize::from(number % 4)];
    let block = options.layout.block.size();
    let pcluster = (block << number).min(1 << 20);
    let pack_directories =
        options.compression.files.is_some() && options.compression.fragments != Fragments::None;
    image::with_metabox(options, words, pcluster)
        .with(|o| o.compression.pack_directories = pack_directories)
}

/// The same with the newer layouts that are drawn.
fn with_newer(options: Options, (prefixes, old, wide): (bool, bool, u8)) -> Options {
    let options = if prefixes { image::with_prefixes(options) } else { options };
    // Which still mounts all else, but small blocks.
    let kernel = if old { KernelVersion::new(6, 10) } else { options.kernel };
    match wide {
        0 => options.with(|o| o.layout.wide = true),
        1 => options.with(|o| o.layout.dot_omitted = true),
        2 => image::with_records(options),
        3 => image::with_48_bits(options),
        4..8 => with_metabox(options, wide),
        _ => options.with(|o| o.kernel = kernel),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_trees_come_back(recipe in recipe::recipes(40), options in options(), workers in 1..=3_usize) {
        let (tree, contents) = recipe.follow();
        let built = image::workers(workers).build(Filesystem::new(&tree, &contents), &options);
        let read = image::open_bytes(built);
        compare::assert_same(Filesystem::new(&tree, &contents), read.filesystem(), &format!("{options:?}"));
    }

    #[test]
    fn random_trees_pass_the_check_after_building(recipe in recipe::recipes(15), options in options(), workers in 1..=3_usize) {
        let folder = place::folder();
        let path = folder.path().join("image");
        let (tree, contents) = recipe.follow();
        let source = Source { tree, contents: Box::new(contents), notes: Vec::new() };
        let report = image::workers(workers).builder(source, &options).build_to(&path).unwrap().report;
        prop_assert_eq!(report.image_bytes, fs::metadata(&path).unwrap().len());
        prop_assert_eq!(place::names(folder.path()), ["image"]);
    }
}

fn assert_sound(device: Box<dyn ReadAt>, name: &str) {
    let how = check::Options::default();
    let report = check::check_devices(vec![device], &how, &()).unwrap();
    let first = report.findings.first();
    assert!(first.is_none(), "{name}: {first:?}");
}

#[test]
fn every_kind_of_image_is_sound() {
    let recipe = recipe::from_bytes(&noise::bytes(Texture::Noise, 3, 4000));
    let (tree, contents) = recipe.as_linux_allows().follow();
    for (name, options) in matrix::all(16) {
        let device = MemoryDevice::new(image::build(Filesystem::new(&tree, &contents), &options));
        assert_sound(Box::new(device), &name);
    }
}

/// What lies beyond 2^32 blocks needs the 48-bit layout, and a few blocks are enough to see whether it works.
#[test]
fn the_nasty_tree_comes_back_from_far_blocks() {
    let Planted { tree, source, image: path, folder: _folder } =
        Planted::new(|tree| nasty::plant(tree, Nasty::Whole));
    for (name, options) in matrix::far() {
        let report = image::workers(2).build_directory(&tree, &path, &options);
        assert!(report.image_bytes >> 9 > 1 << 32, "{name}: {report:?}");
        assert_sound(Box::new(FileDevice::open(&path).unwrap()), &name);
        let read = image::open(&path);
        compare::assert_same(source.filesystem(), read.filesystem(), &name);
    }
    let near = matrix::far().remove(0).1.with(|o| {
        o.layout.wide = false;
        o.layout.dot_omitted = false;
    });
    let refused = image::builder(source, &near).build_to(&path).unwrap_err();
    assert!(refused.to_string().contains("4294967294"), "{refused}");
}

#[test]
fn a_file_over_4_gib_comes_back() {
    let Planted { tree, source, image: path, folder: _folder } =
        Planted::new(|tree| nasty::plant_huge(&tree.join("huge")));
    for options in [image::plain(), image::compressed(Compressor::Lz4, 65536)] {
        let report = image::workers(2).build_directory(&tree, &path, &options);
        assert!(report.image_bytes < 64 << 20, "holes are stored: {report:?}");
        compare::assert_same(source.filesystem(), image::open(&path).filesystem(), "over 4 GiB");
    }
}
