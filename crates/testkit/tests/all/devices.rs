//! Images whose file data is stored on extra devices hold what their sources hold.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use lith::{
    Error,
    builder::{BuildError, ChunkForm, Chunks, DataImport, OtherDevice},
    check,
    codec::Compressor,
    source::Source,
    tree::{Aspects, InodeIndex, Kind, MemoryContents, Metadata, Name, Tree},
};
use lith_testkit::{
    chunks, compare, image, nasty,
    nasty::Nasty,
    noise::{self, Texture},
    oracle::kernel,
    place,
    placed::Placed,
    recipe,
};

/// Looks at an image with its devices, and with all of them put after it.
fn assert_holds(source: &Source, image: &Path, devices: &[PathBuf], what: &str) {
    let whole = image.with_extension("whole");
    let all: Vec<_> = [image].into_iter().chain(devices.iter().map(PathBuf::as_path)).collect();
    fs::write(&whole, all.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>().concat())
        .unwrap();
    for (image, devices) in [(image, devices), (&*whole, &[])] {
        let what = format!("{what}, {} devices", devices.len());
        let read = image::open_with(image, devices);
        compare::assert_same(source.filesystem(), read.filesystem(), &what);
        let how = check::Options::default();
        let report = check::check_devices(image::devices(image, devices), &how, &());
        assert!(report.as_ref().unwrap().findings.is_empty(), "{what}: {report:?}");
        if kernel::is_there() {
            let what = format!("{what}, mounted");
            let mounted = kernel::try_mount_with(image, devices).unwrap();
            compare::assert_same(source.filesystem(), mounted.tree().filesystem(), &what);
            mounted.assert_stats(&source.tree);
            mounted.read_at_random(source.filesystem(), 3);
        }
    }
    fs::remove_file(whole).unwrap();
}

#[test]
fn chunks_lie_on_a_device_of_their_own() {
    let folder = place::folder();
    let (tree, images) = (folder.path().join("tree"), folder.path().join("images"));
    fs::create_dir(&tree).unwrap();
    fs::create_dir(&images).unwrap();
    nasty::plant(&tree, Nasty::Whole);
    let (path, blob) = (images.join("image"), images.join("blob"));
    let lz4 = image::compressed(Compressor::Lz4, 4 << 10);
    let kinds = [
        ("4K", chunks::with(image::plain(), 4 << 10)),
        ("64K, shared by none", {
            let options = chunks::with(image::plain(), 64 << 10);
            options.with(|o| o.layout.share_duplicates = false)
        }),
        ("512, blocks of 512", chunks::with(image::with_blocks(image::plain(), 9), 512)),
        ("lz4, 4K, prefixes", chunks::with(image::with_prefixes(lz4), 4 << 10)),
        ("4K, 48 bits, metabox", {
            let boxed = image::with_metabox(image::plain(), "zstd,3", 4 << 10);
            chunks::with(image::with_48_bits(boxed), 4 << 10)
        }),
    ];
    for (name, options) in kinds {
        let mut before = None;
        for workers in [1, 3] {
            let build = image::workers(workers).builder(image::directory(&tree), &options);
            let report = build.blob(&blob).build_to(&path).unwrap().report;
            assert_eq!(report.image_bytes, fs::metadata(&path).unwrap().len(), "{name}");
            assert_eq!(report.blob_bytes, fs::metadata(&blob).unwrap().len(), "{name}");
            assert_eq!(place::names(&images), ["blob", "image"], "{name}");
            let bytes = [fs::read(&path).unwrap(), fs::read(&blob).unwrap()];
            assert!(before.replace(bytes.clone()).is_none_or(|before| before == bytes), "{name}");
        }
        assert_holds(&image::directory(&tree), &path, std::slice::from_ref(&blob), name);
    }
}

#[test]
fn equal_chunks_are_stored_once() {
    let folder = place::folder();
    let (path, blob) = (folder.path().join("image"), folder.path().join("blob"));
    let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    let random = noise::bytes(Texture::Noise, 1, 3 << 20);
    let shifted = [&random[1 << 20..], &[0; 8192], &random[..1 << 20], b"end"].concat();
    for (name, bytes) in [(&b"a"[..], random.clone()), (b"b", shifted), (b"c", random)] {
        let name = (InodeIndex::ROOT, Name::new(name).unwrap());
        contents.add(&mut tree, name, Metadata::default(), bytes).unwrap();
    }
    let source =
        || Source { tree: tree.clone(), contents: Box::new(contents.clone()), notes: Vec::new() };
    let options = chunks::with(image::plain(), 4096);
    let builder = || image::workers(2).builder(source(), &options);
    builder().blob(&blob).build_to(&path).unwrap();
    // Once the bytes of all, and the block that only one of them ends with.
    assert_eq!(fs::metadata(&blob).unwrap().len(), (3 << 20) + 4096);
    assert_holds(&source(), &path, std::slice::from_ref(&blob), "shared");
    builder().build_to(&path).unwrap();
    let size = fs::metadata(&path).unwrap().len();
    assert!((3 << 20..(3 << 20) + 40_000).contains(&size), "{size}");
}

#[test]
fn what_can_not_be_leaves_image_and_device_as_they_were() {
    let folder = place::folder();
    let (path, blob) = (folder.path().join("image"), folder.path().join("blob"));
    fs::write(&path, "old image").unwrap();
    fs::write(&blob, "old device").unwrap();
    let map = Chunks { size: 4096, form: ChunkForm::BlockMap };
    let refused = [
        (image::plain().with(|o| o.layout.chunks = Some(map)), &blob),
        (image::plain(), &blob),
        (chunks::with(image::plain(), 4096), &path),
        (chunks::with(image::plain(), 4096).with(|o| o.identity.label = vec![b'x'; 99]), &blob),
    ];
    for (options, blob) in refused {
        let source = recipe::from_bytes(&noise::bytes(Texture::Noise, 1, 1000)).follow();
        let source = Source { tree: source.0, contents: Box::new(source.1), notes: Vec::new() };
        image::builder(source, &options).blob(blob).build_to(&path).unwrap_err();
    }
    assert_eq!(place::names(folder.path()), ["blob", "image"]);
    assert_eq!(fs::read(path).unwrap(), b"old image");
    assert_eq!(fs::read(blob).unwrap(), b"old device");
}

/// A tree whose files lie on devices.
fn placed(seed: u64, bits: u8) -> (Tree, Placed<MemoryContents>) {
    let recipe = recipe::from_bytes(&noise::bytes(Texture::Noise, seed, 6000));
    let (tree, contents) = recipe.as_linux_allows().follow();
    let contents = Placed::new(&tree, contents, 1 << bits);
    (tree, contents)
}

#[test]
fn files_stay_on_the_devices_of_their_source() {
    let folder = place::folder();
    let path = folder.path().join("image");
    for bits in [9, 12] {
        let plain = image::with_blocks(image::plain(), bits);
        let kinds = [
            ("plain", plain.clone()),
            ("48 bits", image::with_48_bits(plain.clone())),
            ("lz4", image::with_blocks(image::compressed(Compressor::Lz4, 1 << bits), bits)),
            ("chunks", chunks::with(plain, 1 << bits)),
        ];
        for (name, options) in kinds {
            let what = format!("{name}, blocks of {}", 1 << bits);
            let source = || {
                let (tree, contents) = placed(4, bits);
                Source { tree, contents: Box::new(contents), notes: Vec::new() }
            };
            let (_, contents) = placed(4, bits);
            assert!(contents.placed().len() > 20, "{what}");
            let devices = contents.write(folder.path());
            image::builder(source(), &options).build_to(&path).unwrap();
            assert_holds(&source(), &path, &devices, &what);
        }
    }
}

#[test]
fn what_lies_between_blocks_or_beyond_its_device_is_refused_by_name() {
    let folder = place::folder();
    let path = folder.path().join("image");
    let refused = |bytes| {
        let (tree, mut contents) = placed(4, 12);
        let inode = contents.misplace(bytes);
        let name = tree.path(inode);
        let source = Source { tree, contents: Box::new(contents), notes: Vec::new() };
        (image::builder(source, &image::plain()).build_to(&path).unwrap_err(), name)
    };
    let (error, name) = refused(512);
    assert!(
        matches!(&error, Error::Build(BuildError::OtherDevice { path, problem: OtherDevice::Unaligned { block: 4096, .. }, .. }) if *path == name),
        "{error}"
    );
    let (error, name) = refused(1 << 40);
    assert!(
        matches!(&error, Error::Build(BuildError::OtherDevice { path, .. }) if *path == name),
        "{error}"
    );
    assert!(place::names(folder.path()).is_empty());
}

#[test]
fn room_is_reserved_and_zeros_take_none() {
    let folder = place::folder();
    let path = folder.path().join("image");
    for data in [DataImport::Reserved, DataImport::Zeros] {
        let what = format!("{data:?}");
        let (tree, contents) = placed(4, 12);
        let sizes: u64 = tree
            .walk()
            .filter(|visit| visit.name.is_some())
            .map(|visit| match tree.get(visit.inode).kind {
                Kind::Regular { size } => size / u64::from(tree.get(visit.inode).nlink()),
                _ => 0,
            })
            .sum();
        // All holes.
        let zeros = MemoryContents::default();
        let expected = Source { tree: tree.clone(), contents: Box::new(zeros), notes: Vec::new() };
        let source = Source { tree, contents: Box::new(contents), notes: Vec::new() };
        let options = image::compressed(Compressor::Lz4, 65536).with(|o| o.data = data);
        let report = image::builder(source, &options).build_to(&path).unwrap().report;
        assert_eq!(report.image_bytes, fs::metadata(&path).unwrap().len(), "{what}");
        assert_eq!(report.data_bytes > sizes, data == DataImport::Reserved, "{what}: {report:?}");
        let read = image::open(&path);
        let (left, right) = (expected.filesystem(), read.filesystem());
        compare::assert_same_but_for(left, right, Aspects::empty(), &what);
        if kernel::is_there() {
            let mounted = kernel::try_mount_with(&path, &[]).unwrap();
            let seen = mounted.tree();
            compare::assert_same(expected.filesystem(), seen.filesystem(), &what);
        }
    }
}
