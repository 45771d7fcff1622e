//! Tests that the facts about every kind of image sum up, and that its map covers it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{fs, path::Path};

use lith::{
    builder::{Options, Preset},
    device::MemoryDevice,
    format::kernel::KernelVersion,
    reader::{self, Image},
    tree::{Filesystem, InodeIndex, MemoryContents, Metadata, Name, Tree},
};
use lith_report::{Class, Details, Facts, Folder, Sums, census, gather, page};
use lith_testkit::{chunks, golden, image, matrix, place, recipe};

/// Everything.
fn whole() -> lith_report::Options {
    let mut options = lith_report::Options::default();
    options.equal_files = true;
    options
}

/// The sums over all folders, each checked against what is in it.
fn check_folder(folder: &Folder) {
    let mut sum = folder.rest;
    for inner in &folder.folders {
        sum.add(&inner.all);
        check_folder(inner);
    }
    for file in &folder.large_files {
        sum.add(&file.sums());
    }
    assert_eq!(sum, folder.all, "{:?}", folder.name);
}

/// Whether all sums agree, and maps have neither gaps nor overlaps.
fn check(name: &str, image: &Image) -> Facts {
    let facts = gather(image, whole()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let contents = facts.contents.as_ref().unwrap();
    assert_eq!(
        format!("{contents:?}"),
        format!("{:?}", census(image).unwrap()),
        "{name}: both counts are one"
    );
    let details = facts.details.as_ref().unwrap();
    check_folder(&details.folders);
    let mut types = Sums::default();
    for sums in &details.types {
        types.add(&sums.all);
    }
    let all = details.folders.all;
    assert_eq!(types, all, "{name}");
    assert_eq!(all.bytes, contents.bytes, "{name}");
    assert_eq!(all.stored + details.packed_rest, contents.stored, "{name}");
    let stored: u64 = contents.data.values().map(|tally| tally.stored).sum();
    assert_eq!(stored, contents.stored, "{name}");
    check_maps(name, image, details);
    facts
}

fn check_maps(name: &str, image: &Image, details: &Details) {
    assert_eq!(details.devices_map.len(), image.device_map().slots.len() + 1, "{name}");
    for device in &details.devices_map {
        assert_eq!(device.size, image.device_size(device.number), "{name}");
        let mut at = 0;
        for region in &device.regions {
            assert_eq!(region.start, at, "{name}, device {}", device.number);
            assert!(region.bytes > 0, "{name}");
            at += region.bytes;
        }
        assert_eq!(at, device.size, "{name}, device {}", device.number);
        let sum: u64 = device.classes.iter().map(|sums| sums.bytes).sum();
        assert_eq!(sum, device.size, "{name}, device {}", device.number);
    }
}

#[test]
fn sums_agree_in_every_kind_of_image() {
    let seeds = lith_testkit::noise::bytes(lith_testkit::noise::Texture::Noise, 7, 4000);
    let (tree, contents) = recipe::from_bytes(&seeds).follow();
    let files = tree.walk().count() as u64;
    for (name, options) in matrix::all(16) {
        let bytes = image::build(Filesystem::new(&tree, &contents), &options);
        let image = Image::open(MemoryDevice::new(bytes)).unwrap();
        let facts = check(&name, &image);
        assert_eq!(facts.contents.unwrap().names, files - 1, "{name}");
        let details = facts.details.unwrap();
        // Unused bytes are padding.
        let unused = details.devices_map[0].classes.iter().find(|sums| sums.class == Class::Unused);
        assert!(unused.is_none_or(|unused| unused.bytes < image.device_size(0)), "{name}");
    }
}

#[test]
fn sums_agree_in_images_of_others_and_on_several_devices() {
    for golden in golden::all() {
        let files = golden.files();
        let devices = image::devices(&files[0], &files[1..]);
        let image = Image::open_with(devices, reader::Options::default()).unwrap();
        let facts = check(&golden.name, &image);
        let page = page(golden.name.as_bytes(), &facts);
        assert!(page.contains(&golden.name), "{}", golden.name);
    }
}

/// A tree of files with these names and bytes in its root.
fn tree(files: &[(&str, &[u8])]) -> (Tree, MemoryContents) {
    let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    for (name, bytes) in files {
        let place = (InodeIndex::ROOT, Name::new(name.as_bytes()).unwrap());
        contents.add(&mut tree, place, Metadata::default(), *bytes).unwrap();
    }
    (tree, contents)
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    lith_testkit::noise::bytes(lith_testkit::noise::Texture::Noise, seed, length)
}

#[test]
fn shared_data_is_attributed_once_and_reported() {
    let (one, two) = (noise(1, 40_000), noise(2, 40_000));
    let both = [&one[..], &two[..]].concat();
    let all = [("a", &one[..]), ("b", &one), ("c", &both), ("d.bin", &two)];
    let (mut tree, contents) = tree(&all);
    let first = tree.find(b"a").unwrap();
    tree.link(InodeIndex::ROOT, Name::new(b"e").unwrap(), first).unwrap();
    let options = chunks::with(image::plain(), 4096);
    let bytes = image::build(Filesystem::new(&tree, &contents), &options);
    let image = Image::open(MemoryDevice::new(bytes)).unwrap();
    let facts = check("chunks", &image);
    let duplicates = facts.details.as_ref().unwrap().duplicates;
    assert_eq!((duplicates.hard_links.count, duplicates.hard_links.bytes), (1, 40_000));
    assert_eq!((duplicates.whole_files.count, duplicates.whole_files.bytes), (1, 40_000));
    assert_eq!(duplicates.parts.count, 1);
    // Chunks begin where files do, so of the two in one only the first is found again, but for its last chunk.
    assert_eq!(duplicates.parts.bytes, 40_000 / 4096 * 4096);
    let details = facts.details.unwrap();
    let largest = &details.largest.by_bytes[0];
    assert_eq!((&*largest.path.0, largest.bytes), (&b"/c"[..], 80_000));
    let bin = details.types.iter().find(|sums| sums.name == ".bin").unwrap();
    assert_eq!((bin.all.files, bin.all.bytes, bin.all.stored), (1, 40_000, 40_000));
}

#[test]
fn equal_files_that_are_stored_twice_are_found() {
    let (one, two) = (noise(1, 40_000), noise(2, 40_000));
    let (tree, contents) = tree(&[("a", &one), ("b", &two), ("c", &one), ("d", &one), ("e", b"x")]);
    let shared = image::compressed(image::lz4hc(5), 4096);
    let unshared = shared.clone().with(|o| o.layout.share_duplicates = false);
    for (options, copies) in [(unshared, 2), (shared, 0)] {
        let bytes = image::build(Filesystem::new(&tree, &contents), &options);
        let image = Image::open(MemoryDevice::new(bytes)).unwrap();
        let facts = check("equal", &image);
        let equal = facts.details.as_ref().unwrap().equal_files.as_ref().unwrap();
        assert_eq!((equal.copies, equal.bytes, equal.not_compared), (copies, copies * 40_000, 0));
        let page = page(b"image", &facts);
        let text = "2 further copies of 78.1 KiB, which take ";
        assert_eq!(page.contains(text), copies == 2);
        let Some(group) = equal.largest.first() else { continue };
        let paths: Vec<_> = group.paths.iter().map(|path| &*path.0).collect();
        assert_eq!(paths, [b"/a", b"/c", b"/d"]);
        assert_eq!((group.files, group.bytes, group.stored), (3, 40_000, equal.stored));
        assert!((80_000..90_000).contains(&group.stored), "{}", group.stored);
    }
}

#[test]
fn the_map_has_the_class_of_each_extent() {
    let text = b"words and words and words, ".repeat(4000);
    let (tree, contents) = tree(&[("text", &text), ("noise", &noise(3, 50_000))]);
    let options = image::compressed("zstd,3".parse().unwrap(), 64 << 10);
    let folder = place::folder();
    let path = folder.path().join("image");
    image::build_at(&path, Filesystem::new(&tree, &contents), &options);
    let bytes = fs::read(&path).unwrap();
    let image = Image::open(MemoryDevice::new(bytes)).unwrap();
    let details = check("zstd", &image).details.unwrap();
    let map = &details.devices_map[0];
    let class_at = |at: u64| {
        let region = map.regions.iter().find(|region| at < region.start + region.bytes);
        region.unwrap().class
    };
    assert_eq!(class_at(1024), Class::Superblock);
    assert_eq!(class_at(image.root().unwrap().position), Class::Inodes);
    for path in ["text", "noise"] {
        let inode = image.resolve(path.as_bytes()).unwrap();
        for extent in image.extents(&inode).unwrap() {
            let extent = extent.unwrap();
            let reader::Place::Device(at) = extent.place else { continue };
            let expected = match extent.kind.name() {
                "zstd" => Class::Zstd,
                "plain" => Class::Plain,
                _ => Class::Flat,
            };
            assert_eq!(class_at(at.pa.0), expected, "{path}");
        }
    }
}

#[test]
fn an_estimate_of_a_small_image_is_no_estimate() {
    let text = b"words and words and words, ".repeat(4000);
    let (tree, contents) = tree(&[("text", &text)]);
    let bytes = image::build(Filesystem::new(&tree, &contents), &image::plain());
    let image = std::sync::Arc::new(Image::open(MemoryDevice::new(bytes)).unwrap());
    let mut facts = gather(&image, whole()).unwrap();
    let candidates = [("same", image::plain()), ("lz4", image::compressed(image::lz4hc(12), 4096))];
    let folder = place::folder();
    let estimates = lith_report::estimate(&image, &facts, &candidates, folder.path()).unwrap();
    assert!(estimates.is_whole && estimates.sample_bytes == 108_000);
    assert_eq!(estimates.presets[0].image, image.device_size(0));
    assert!(estimates.presets[1].image < image.device_size(0) / 4);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    facts.presets = Some(estimates);
    let page = page(b"image", &facts);
    assert!(page.contains("What another preset would save"));
}

/// Text of words, of which neighbours have more in common.
fn words(seed: u64, bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 32);
    let choices = noise(seed, bytes / 4 + 1);
    for choice in choices {
        let word = (u64::from(choice) * 0x9e37 + seed / 16 * u64::from(choice % 4)) % 0xf_ffff;
        text.extend_from_slice(format!("word{word:x} ").as_bytes());
        if text.len() >= bytes {
            break;
        }
    }
    text.truncate(bytes);
    text
}

/// Texts, tables of numbers, what cannot be compressed, and copies: small files and large ones.
fn mixed_tree() -> (Tree, MemoryContents) {
    let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    let mut bytes = 0;
    let sizes = [700, 6_000, 90_000, 1_500, 30_000, 900_000, 3_000];
    for (number, size) in (0_u64..).zip(sizes.into_iter().cycle()) {
        let content = match number % 5 {
            0 | 3 => words(number, size),
            1 => noise(number, size / 8)
                .into_iter()
                .flat_map(|byte| [byte, 0, byte >> 6, 0, 0, 1, 0, 0])
                .collect(),
            2 => noise(number, size),
            _ => words(number / 40, size),
        };
        let name = Name::new(format!("{number}").as_bytes()).unwrap();
        bytes += content.len();
        contents.add(&mut tree, (InodeIndex::ROOT, name), Metadata::default(), content).unwrap();
        if bytes > 80 << 20 {
            break;
        }
    }
    (tree, contents)
}

#[test]
fn estimates_by_samples_are_within_three_percent() {
    let (tree, contents) = mixed_tree();
    let candidates =
        Preset::ALL.map(|preset| (preset.name(), preset.options(KernelVersion::DEFAULT)));
    let [_, (_, balanced), (_, small), _] = &candidates;
    let built = |options: &Options| image::build(Filesystem::new(&tree, &contents), options);
    let plain = built(&image::plain());
    let folder = place::folder();
    let expected = [built(balanced), built(small)];
    // Of its own preset an image has the true size; the other one takes long.
    for (of, estimated) in [(&plain, &candidates[1..3]), (&expected[0], &candidates[1..2])] {
        let image = std::sync::Arc::new(Image::open(MemoryDevice::new(of.clone())).unwrap());
        let facts = gather(&image, whole()).unwrap();
        let estimates = lith_report::estimate(&image, &facts, estimated, folder.path()).unwrap();
        assert!(!estimates.is_whole && estimates.sample_bytes == 64 << 20);
        assert_eq!(
            (estimates.presets.len(), estimates.own.is_some()),
            (estimated.len(), of == &expected[0])
        );
        for (estimate, expected) in estimates.presets.iter().zip(&expected) {
            let (found, expected) = (estimate.image, expected.len() as u64);
            let name = &estimate.name;
            assert!(
                found.abs_diff(expected) * 100 <= expected * 3,
                "{name}: {found}, but it is {expected}"
            );
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn names_of_any_bytes_are_text_on_the_page() {
    let names: [&[u8]; 6] = [
        b"<script>alert(1)<|script>",
        b"a\"b'c&d",
        b"new\nline",
        b"\xff\xfe",
        "\u{202e}gnp.exe".as_bytes(),
        b"{{ page }}",
    ];
    let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    for (number, name) in names.iter().enumerate() {
        let folder = lith::tree::Kind::directory();
        let name = Name::new(name).unwrap();
        let metadata = Metadata::default();
        let folder = tree.add(InodeIndex::ROOT, name.clone(), metadata, folder).unwrap();
        let bytes = noise(number as u64, 9000);
        contents.add(&mut tree, (folder, name), metadata, bytes).unwrap();
    }
    let bytes = image::build(Filesystem::new(&tree, &contents), &image::plain());
    let image = Image::open(MemoryDevice::new(bytes)).unwrap();
    let facts = gather(&image, whole()).unwrap();
    let title = Path::new("<b>image</b>").as_os_str().as_encoded_bytes();
    let page = page(title, &facts);
    assert!(!page.contains("<script") && !page.contains("<b>image") && !page.contains('\u{202e}'));
    for shown in
        ["&lt;script&gt;alert(1)&lt;|script&gt;", "new\\x0aline", "{{ page }}", "\\xff\\xfe"]
    {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(page.contains("default-src &#x27;none&#x27;") || page.contains("default-src 'none'"));
}
