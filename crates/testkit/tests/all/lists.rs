//! The lists that other tools take of an image locate its files' bytes.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use lith::{
    builder::{DataImport, ImageId, Options},
    codec::Compressor,
    device::FileDevice,
    export::ListError,
    reader::Image,
    source::Source,
    tree::{Filesystem, InodeIndex, MemoryContents, Metadata, Name, Tree},
};
use lith_testkit::{
    chunks, image,
    noise::{self, Texture},
    place,
    placed::Placed,
};
use tempfile::TempDir;

struct Bed {
    folder: TempDir,
    tree: Tree,
    contents: MemoryContents,
}

impl Bed {
    fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
        for (name, bytes) in files {
            let name = (InodeIndex::ROOT, Name::new(name.as_bytes()).unwrap());
            contents.add(&mut tree, name, Metadata::default(), bytes.clone()).unwrap();
        }
        Self { folder: place::folder(), tree, contents }
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn build(&self, options: &Options) -> Image {
        image::build_at(&self.image(), Filesystem::new(&self.tree, &self.contents), options);
        Image::open(FileDevice::open(self.image()).unwrap()).unwrap()
    }
}

fn noise_of(seed: u64, length: usize) -> Vec<u8> {
    noise::bytes(Texture::Noise, seed, length)
}

/// The ranges of blocks of each path.
fn listed(image: &Image, mount_point: &str) -> HashMap<String, Vec<(u64, u64)>> {
    let mut out = Vec::new();
    lith::export::block_list(image, mount_point.as_bytes(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        (first.parse().unwrap(), last.parse().unwrap())
    };
    let line = |line: &str| {
        let mut words = line.split(' ');
        (words.next().unwrap().to_owned(), words.map(range).collect())
    };
    text.lines().map(line).collect()
}

#[test]
fn the_block_list_names_the_blocks_of_each_file() {
    let shared = noise_of(1, 12 << 10);
    let with_hole = [&noise_of(2, 4096)[..], &vec![0; 64 << 10], &noise_of(3, 100)].concat();
    let files = [
        ("a", noise_of(4, 10_000)),
        ("b", shared.clone()),
        ("c", [&noise_of(5, 4096)[..], &shared].concat()),
        ("hole", with_hole),
        ("one", noise_of(6, 4096)),
        ("small", noise_of(7, 50)),
        ("zeros", vec![0; 100_000]),
    ];
    let bed = Bed::new(&files);
    let image = bed.build(&chunks::with(image::plain(), 4096));
    let lists = listed(&image, "system/");
    let mut names: Vec<_> = lists.keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected =
        ["/system/a", "/system/b", "/system/c", "/system/hole", "/system/one", "/system/small"];
    assert_eq!(names, expected);
    let bytes = fs::read(bed.image()).unwrap();
    for (name, content) in files.iter().filter(|(name, _)| *name != "zeros") {
        let ranges = &lists[&format!("/system/{name}")];
        let there = ranges.iter().map(|(first, last)| {
            &bytes[usize::try_from(first * 4096).unwrap()
                ..usize::try_from((last + 1) * 4096).unwrap()]
        });
        let there = there.collect::<Vec<_>>().concat();
        if *name == "hole" {
            assert_eq!(
                (&there[..4096], &there[4096..4196]),
                (&content[..4096], &content[69_632..])
            );
        } else {
            assert_eq!(there[..content.len()], content[..], "{name}");
            assert_eq!(there.len(), content.len().next_multiple_of(4096), "{name}");
        }
    }
    assert_eq!(lists["/system/c"].len(), 2);
    assert_eq!(lists["/system/b"][0], lists["/system/c"][1]);
}

#[test]
fn compressed_files_have_one_range_and_inline_ones_none() {
    let text = noise::bytes(Texture::Text, 1, 300_000);
    let bed = Bed::new(&[("small", noise_of(1, 50)), ("text", text)]);
    let image = bed.build(&image::compressed(Compressor::Lz4, 65536));
    let lists = listed(&image, "/");
    assert_eq!(lists.keys().collect::<Vec<_>>(), ["//text"]);
    let inode = image.resolve(b"/text").unwrap();
    let stored: u64 = image.extents(&inode).unwrap().map(|extent| extent.unwrap().plen).sum();
    let [(first, last)] = lists["//text"][..] else { panic!("{lists:?}") };
    assert_eq!((last + 1 - first) * 4096, stored);
}

#[test]
fn what_the_source_map_says_fills_an_image_with_room() {
    let bed = Bed::new(&[
        ("a", noise_of(1, 5000)),
        ("b", noise_of(2, 8192)),
        ("c", noise_of(3, 1)),
        ("empty", Vec::new()),
    ]);
    let contents = Placed::in_a_row(&bed.tree, bed.contents.clone());
    let device = contents.devices()[0].clone();
    let options = image::plain().with(|o| o.data = DataImport::Reserved);
    image::build_at(&bed.image(), Filesystem::new(&bed.tree, &contents), &options);
    let image = Image::open(FileDevice::open(bed.image()).unwrap()).unwrap();
    let mut out = Vec::new();
    lith::export::source_map(&image, Filesystem::new(&bed.tree, &contents), &mut out).unwrap();
    drop(image);
    let file = fs::File::options().write(true).open(bed.image()).unwrap();
    let map = String::from_utf8(out).unwrap();
    assert_eq!(map.lines().count(), 3, "{map}");
    for line in map.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let hex = |at: usize| u64::from_str_radix(words[at], 16).unwrap();
        let zeros: u64 = words.get(3).map_or(0, |word| word.parse().unwrap());
        let (from, len) = (usize::try_from(hex(2)).unwrap(), hex(1) * 4096 - zeros);
        let bytes = &device[from..from + usize::try_from(len).unwrap()];
        file.write_all_at(bytes, hex(0) * 4096).unwrap();
    }
    let read = image::open(&bed.image());
    let source = Filesystem::new(&bed.tree, &bed.contents);
    lith_testkit::compare::assert_same(source, read.filesystem(), "filled");
}

#[test]
fn a_file_with_holes_has_no_place_in_a_source_map() {
    let bed = Bed::new(&[("a", [noise_of(1, 4096), vec![0; 900_000], noise_of(2, 9)].concat())]);
    let contents = scattered(&bed);
    let image = bed.build(&image::plain().with(|o| o.data = DataImport::Reserved));
    let error =
        lith::export::source_map(&image, Filesystem::new(&bed.tree, &contents), &mut Vec::new())
            .unwrap_err();
    assert!(matches!(&error, ListError::Scattered { path } if path == b"a"), "{error}");
}

/// Contents whose only file lies on a device.
fn scattered(bed: &Bed) -> Placed<MemoryContents> {
    let placed = |block| Placed::new(&bed.tree, bed.contents.clone(), block);
    [512, 1024, 2048, 4096].map(placed).into_iter().find(|all| !all.placed().is_empty()).unwrap()
}

#[test]
fn the_vmdk_descriptor_puts_image_and_devices_one_after_another() {
    let bed = Bed::new(&[("a", noise_of(1, 50_000)), ("b", noise_of(2, 9000))]);
    let blob = bed.folder.path().join("blob");
    let (tree, contents) = (bed.tree.clone(), Box::new(bed.contents.clone()));
    let source = Source { tree, contents, notes: Vec::new() };
    let id = [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10];
    let options = chunks::with(image::plain(), 4096);
    let options = options.with(|o| o.identity.id = ImageId::Fixed(id));
    image::builder(source, &options).blob(&blob).build_to(bed.image()).unwrap();
    let image = Image::open(FileDevice::open(bed.image()).unwrap()).unwrap();
    let mut out = Vec::new();
    let devices = [PathBuf::from("blob")];
    lith::export::vmdk_descriptor(&image, Path::new("image"), &devices, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let sectors = |path: &Path| fs::metadata(path).unwrap().len() / 512;
    for expected in [
        "# Disk DescriptorFile\nversion=1\nCID=14030201\nparentCID=ffffffff\n".to_owned(),
        format!("RW {} FLAT \"image\" 0\n", sectors(&bed.image())),
        format!("RW {} FLAT \"blob\" 0\n", sectors(&blob)),
        "ddb.geometry.cylinders = \"1\"\n".to_owned(),
    ] {
        assert!(text.contains(&expected), "{expected:?} is not in\n{text}");
    }
}
