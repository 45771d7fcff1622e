//! Images that refer to others hold what their sources hold, and take wrong bases for what they are.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

mod flat;
mod joints;
mod layers;
mod overlayfs;
mod wrong;

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use lith::{
    Error,
    bases::{self, BaseError, Search},
    builder::{Fragments, Options},
    check,
    codec::{Compressor, LzmaEffort},
    device::FileDevice,
    reader::{Extent, ExtentKind, Place},
    source::{OnError, Source},
    tree::{Content, ContentError, Contents, InodeIndex, Tree},
};
use lith_testkit::{
    chunks, compare, golden, image, nasty,
    nasty::Nasty,
    noise::{self, Noise, Texture},
    oracle::{kernel, tools::Tools},
    place, tier,
};

const LZ4: Compressor = Compressor::Lz4;

fn packed(compressor: Compressor, pcluster: u32) -> Options {
    image::with_packing(image::compressed(compressor, pcluster), Fragments::Tails, false)
}

fn zstd() -> Compressor {
    "zstd,3".parse().unwrap()
}

fn kinds() -> Vec<(&'static str, Options)> {
    let lzma = Compressor::Lzma(LzmaEffort::new(1));
    let deflate = Compressor::Deflate { level: 6 };
    vec![
        ("plain", image::plain()),
        ("chunks", chunks::with(image::plain(), 4 << 10)),
        ("lz4, 4K", image::compressed(LZ4, 4 << 10)),
        ("lz4hc, 64K, fragments", packed(image::lz4hc(9), 64 << 10)),
        ("lz4, 16K, dedupe", {
            image::compressed(LZ4, 16 << 10).with(|o| o.compression.dedupe = true)
        }),
        ("lz4, 16K, tail packing, full indexes", {
            let options = image::with_full_index(image::compressed(LZ4, 16 << 10));
            image::with_packing(options, Fragments::None, true)
        }),
        ("lz4, chunks", chunks::with(image::compressed(LZ4, 4 << 10), 4 << 10)),
        ("lz4, 4K, blocks of 512", image::with_blocks(packed(LZ4, 4 << 10), 9)),
        ("deflate, 32K, prefixes", image::with_prefixes(packed(deflate, 32 << 10))),
        ("lzma, 64K, all fragments", {
            let options = image::compressed(lzma, 64 << 10);
            image::with_packing(options, Fragments::All, true)
        }),
        ("zstd, 32K, records, 48 bits", {
            image::with_records(image::with_48_bits(packed(zstd(), 32 << 10)))
        }),
        ("zstd, 16K, metabox", {
            let options = image::with_48_bits(packed(zstd(), 16 << 10));
            image::with_metabox(options, "lz4", 4 << 10)
        }),
    ]
}

/// A tree that changes from one version to the next.
struct Versions {
    folder: tempfile::TempDir,
}

impl Versions {
    /// The nasty tree is large, so few tests have all of it.
    fn new(what: Option<Nasty>) -> Self {
        Self::in_folder(place::folder(), what)
    }

    /// Where Linux mounts images that are files.
    fn on_disk() -> Self {
        Self::in_folder(place::folder_on_disk(), None)
    }

    fn in_folder(folder: tempfile::TempDir, what: Option<Nasty>) -> Self {
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        if let Some(what) = what {
            nasty::plant(&tree, what);
        }
        let changing = tree.join("changing");
        fs::create_dir(&changing).unwrap();
        let all = [Texture::Text, Texture::Noise, Texture::Mixed, Texture::Pattern];
        for (texture, seed) in all.into_iter().zip(1..) {
            for len in [3000, 70_000, 1_500_000] {
                let name = format!("{texture:?}-{len}");
                fs::write(changing.join(name), noise::bytes(texture, seed, len)).unwrap();
            }
        }
        fs::hard_link(changing.join("Text-70000"), tree.join("changing-link")).unwrap();
        Self { folder }
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn image(&self, version: usize) -> PathBuf {
        self.folder.path().join(format!("{version}.erofs"))
    }

    /// Inserts into some files, renames one, removes one and adds one.
    fn change(&self, version: u64) {
        let tree = self.tree().join("changing");
        let mut random = Noise::new(version);
        for name in ["Text-1500000", "Mixed-1500000", "Text-70000"] {
            let mut bytes = fs::read(tree.join(name)).unwrap();
            let at = random.below(bytes.len());
            bytes.splice(at..at, noise::bytes(Texture::Text, version, 1 + random.below(200)));
            fs::write(tree.join(name), bytes).unwrap();
        }
        // No index has room for what moves by less than a block in incompressible bytes.
        let name = tree.join("Noise-1500000");
        let mut bytes = fs::read(&name).unwrap();
        let at = 4096 * random.below(300);
        bytes.splice(at..at, noise::bytes(Texture::Noise, 60 + version, 8192));
        fs::write(name, bytes).unwrap();
        let renamed = tree.join(format!("renamed-{version}"));
        let before = if version == 1 { tree.join("Pattern-70000") } else { tree.join("renamed-1") };
        fs::rename(before, renamed).unwrap();
        fs::write(tree.join("new"), noise::bytes(Texture::Text, 50 + version, 9000)).unwrap();
        let _gone = fs::remove_file(tree.join(format!("Noise-{}", 3000 * version)));
    }

    /// Builds the version of the tree that there is now.
    fn build(&self, version: usize, options: &Options, base: Option<usize>) -> u64 {
        let builder = image::workers(2).builder(image::directory(&self.tree()), options);
        let builder = match base {
            Some(base) => builder.base(self.image(base)),
            None => builder,
        };
        builder.build_to(self.image(version)).unwrap().report.image_bytes
    }

    /// Makes one image of a patch and its bases, as version 3.
    fn flatten(&self, version: usize, options: &Options) {
        let image = self.image(version);
        let found = bases::find(&image, 0, &Search::default()).unwrap();
        let devices: Vec<_> = found.into_iter().map(|found| found.path).collect();
        let source = image::open_with(&image, &devices);
        let builder = image::workers(2).builder(source, options);
        let report = builder.base(&image).copied_layers().build_to(self.image(3)).unwrap().report;
        let all = devices.iter().chain([&image]).map(|path| fs::metadata(path).unwrap().len());
        assert!(report.image_bytes < all.sum(), "{report:?}");
    }

    /// Looks at an image with its bases.
    fn assert_holds(&self, version: usize, what: &str) {
        self.assert_is(&image::directory(&self.tree()), version, what);
    }

    /// Compares an image with a tree, by the reader and by the kernel.
    fn assert_is(&self, source: &Source, version: usize, what: &str) {
        let image = self.image(version);
        let found = bases::find(&image, 0, &Search::default()).unwrap();
        let devices: Vec<_> = found.into_iter().map(|found| found.path).collect();
        let read = image::open_with(&image, &devices);
        compare::assert_same(source.filesystem(), read.filesystem(), what);
        let report =
            check::check_devices(image::devices(&image, &devices), &check::Options::default(), &());
        let findings = report.unwrap().findings;
        assert!(findings.is_empty(), "{what}: {findings:?}");
        if !kernel::is_there() {
            return;
        }
        tier::ran("patches");
        for mount in [kernel::try_mount_with, kernel::try_mount_by_loop] {
            let mounted = mount(&image, &devices).unwrap();
            compare::assert_same(source.filesystem(), mounted.tree().filesystem(), what);
            mounted.assert_stats(&source.tree);
            mounted.read_at_random(source.filesystem(), 3);
        }
    }
}

#[test]
fn three_versions_of_a_tree_in_every_kind_of_image() {
    for (name, options) in kinds() {
        let nasty = name.contains("prefixes").then_some(Nasty::Whole);
        let versions = Versions::new(nasty);
        let full = versions.build(0, &options, None);
        for version in 1..3 {
            versions.change(version as u64);
            let patch = versions.build(version, &options, Some(version - 1));
            let what = format!("{name}, version {version}");
            // Changed files are stored again without compression, and incompressible ones where they are packed.
            let is_found = options.compression.files.is_some();
            let is_packed = options.compression.fragments == Fragments::All;
            let most = if is_found && !is_packed { full / 3 } else { full - full / 8 };
            assert!(patch < most, "{what}: {patch} of {full}");
            versions.assert_holds(version, &what);
        }
        versions.flatten(2, &options);
        versions.assert_holds(3, &format!("{name}, flat"));
    }
}

#[test]
fn a_base_can_be_of_another_kind() {
    let (lzma, lz4) = (Compressor::Lzma(LzmaEffort::new(1)), packed(LZ4, 16 << 10));
    let two = [
        ("lz4 on lzma", packed(lzma, 64 << 10), lz4.clone()),
        ("zstd without fragments on lz4", lz4.clone(), image::compressed(zstd(), 32 << 10)),
        ("plain on lz4", lz4.clone(), image::plain()),
        ("lz4 on plain", image::plain(), lz4.clone()),
        ("lz4 on chunks", chunks::with(image::plain(), 8 << 10), lz4),
    ];
    for (what, base, patch) in two {
        let versions = Versions::new(None);
        versions.build(0, &base, None);
        versions.change(1);
        let full = versions.build(2, &patch, None);
        let size = versions.build(1, &patch, Some(0));
        // Changed files without compression are stored again.
        let most = if patch.compression.files.is_some() { full / 2 } else { full };
        assert!(size < most, "{what}: {size} of {full}");
        versions.assert_holds(1, what);
    }
}

#[test]
fn equal_sources_make_equal_patches_whatever_the_workers() {
    let versions = Versions::new(None);
    let options = packed(image::lz4hc(5), 64 << 10);
    versions.build(0, &options, None);
    versions.change(1);
    let mut before: Option<Vec<u8>> = None;
    for workers in [1, 3] {
        let builder = image::workers(workers).builder(image::directory(&versions.tree()), &options);
        builder.base(versions.image(0)).build_to(versions.image(1)).unwrap();
        let bytes = fs::read(versions.image(1)).unwrap();
        assert!(before.replace(bytes.clone()).is_none_or(|before| before == bytes), "{workers}");
    }
}

#[test]
fn images_of_erofs_utils_can_be_bases() {
    let Some(tools) = Tools::find() else { return };
    let options = [
        "-zlz4hc -C65536 -Efragments",
        "-zlz4 -C16384 -Eall-fragments,dedupe",
        "-zlzma,2 -C65536 -Eztailpacking",
        "-zdeflate",
        "-zzstd,3 -C65536 -Efragments",
        "--chunksize=4096",
        "-x-1",
    ];
    for words in options {
        let versions = Versions::new(None);
        let line = format!("{words} --quiet 0.erofs tree");
        let args: Vec<_> = line.split(' ').map(OsStr::new).collect();
        let _said = tools.expect(versions.folder.path(), "mkfs.erofs", &args);
        versions.change(1);
        let patch = packed(LZ4, 16 << 10);
        let full = versions.build(2, &patch, None);
        let size = versions.build(1, &patch, Some(0));
        // Blocks of noise are rotated there, and serve no file that has changed.
        let noise = versions.tree().join("changing/Noise-1500000");
        let rotated =
            if words.contains("all-fragments") { noise.metadata().unwrap().len() } else { 0 };
        assert!(size < full / 5 + rotated, "{words}: {size} of {full}");
        versions.assert_holds(1, words);
    }
}

#[test]
fn files_that_are_left_out_have_no_effect_on_others() {
    let versions = Versions::new(None);
    let options = packed(LZ4, 16 << 10);
    versions.build(0, &options, None);
    versions.change(1);
    let source = image::directory(&versions.tree());
    // It is listed already.
    let changing = versions.tree().join("changing");
    let time = fs::metadata(&changing).unwrap().modified().unwrap();
    fs::remove_file(changing.join("Mixed-70000")).unwrap();
    fs::File::open(&changing).unwrap().set_modified(time).unwrap();
    let builder = image::workers(2).builder(source, &options).on_error(OnError::Skip);
    let built = builder.base(versions.image(0)).build_to(versions.image(1)).unwrap();
    assert_eq!(built.notes.len(), 1, "{:?}", built.notes);
    versions.assert_holds(1, "without a file");
}

/// Contents of which one is missing; when that is found out, an image is damaged.
struct Damaging {
    contents: Box<dyn Contents>,
    image: PathBuf,
    /// Where.
    range: std::ops::Range<u64>,
}

impl Contents for Damaging {
    fn open(&self, tree: &Tree, inode: InodeIndex) -> Result<Box<dyn Content + '_>, ContentError> {
        self.contents.open(tree, inode).inspect_err(|_| {
            let image = fs::File::options().write(true).open(&self.image).unwrap();
            let zeros = vec![0; usize::try_from(self.range.end - self.range.start).unwrap()];
            image.write_all_at(&zeros, self.range.start).unwrap();
        })
    }
}

#[test]
fn bases_are_read_once_though_files_are_left_out() {
    let versions = Versions::new(None);
    let options = image::compressed(LZ4, 16 << 10);
    let gone = versions.tree().join("gone");
    fs::write(&gone, noise::bytes(Texture::Text, 9, 300_000)).unwrap();
    versions.build(0, &options, None);
    let base = lith::reader::Image::open(FileDevice::open(versions.image(0)).unwrap()).unwrap();
    let inode = base.resolve(b"gone").unwrap();
    let first = base.extents(&inode).unwrap().next().unwrap().unwrap();
    let Place::Device(at) = first.place else { panic!("{first:?}") };
    fs::remove_file(gone).unwrap();
    versions.change(1);
    let Source { tree, contents, notes } = image::directory(&versions.tree());
    let changing = versions.tree().join("changing");
    let time = fs::metadata(&changing).unwrap().modified().unwrap();
    fs::remove_file(changing.join("new")).unwrap();
    fs::File::open(&changing).unwrap().set_modified(time).unwrap();
    // To read the base again would fail: what the image doesn't refer to is damaged.
    let range = at.pa.0..at.pa.0 + first.plen;
    let contents = Box::new(Damaging { contents, image: versions.image(0), range });
    let builder = image::workers(2).builder(Source { tree, contents, notes }, &options);
    let builder = builder.on_error(OnError::Skip).base(versions.image(0));
    let built = builder.build_to(versions.image(1)).unwrap();
    assert_eq!(built.notes.len(), 1, "{:?}", built.notes);
    let damaged = base.file(&inode).unwrap().read_at(&mut [0; 4096], 0);
    assert!(damaged.is_err(), "it would not have been noticed");
    let patch = fs::metadata(versions.image(1)).unwrap().len();
    let whole = fs::metadata(versions.image(0)).unwrap().len();
    assert!(patch < whole / 4, "{patch} of {whole}");
    let read = image::open_with(&versions.image(1), &[versions.image(0)]);
    let now = image::directory(&versions.tree());
    compare::assert_same(now.filesystem(), read.filesystem(), "without a file");
}

#[test]
fn of_an_extent_that_ends_otherwise_the_beginning_is_referred_to() {
    let folder = place::folder();
    let (tree, options) = (folder.path().join("tree"), packed(image::lz4hc(9), 64 << 10));
    fs::create_dir(&tree).unwrap();
    let [base, patch, whole] = ["base", "patch", "whole"].map(|name| folder.path().join(name));
    // Text that repeats little: words of other words, in extents of some 150 KB.
    let bytes = noise::bytes(Texture::Mixed, 1, 1_000_000);
    fs::write(tree.join("file"), &bytes).unwrap();
    let build = |to: &Path, base: Option<&Path>| {
        let builder = image::workers(2).builder(image::directory(&tree), &options);
        let builder = match base {
            Some(base) => builder.base(base),
            None => builder,
        };
        builder.build_to(to).unwrap().report.image_bytes
    };
    build(&base, None);
    let extents = |image: &Path, devices: &[PathBuf]| -> Vec<(u64, u64, bool)> {
        let opened = lith::reader::Image::open_with(
            image::devices(image, devices),
            lith::reader::Options::default(),
        );
        let opened = opened.unwrap();
        let inode = opened.resolve(b"file").unwrap();
        let extents = opened.extents(&inode).unwrap().map(Result::unwrap);
        let is_partial = |kind| matches!(kind, ExtentKind::Compressed { partial: true, .. });
        extents.map(|extent| (extent.la, extent.len, is_partial(extent.kind))).collect()
    };
    // One byte is another near the end of the second extent.
    let (start, len, _) = extents(&base, &[])[1];
    let at = usize::try_from(start + len / 8 * 7).unwrap();
    let mut changed = bytes.clone();
    changed[at] ^= 1;
    fs::write(tree.join("file"), &changed).unwrap();
    let size = build(&patch, Some(&base));
    let full = build(&whole, None);
    let found = extents(&patch, std::slice::from_ref(&base));
    assert!(found.contains(&(start, at as u64 - start, true)), "{at} is changed: {found:?}");
    // What is new is an eighth of an extent.
    assert!(size < full / 8, "{size} of {full}");
    let read = image::open_with(&patch, std::slice::from_ref(&base));
    let source = image::directory(&tree);
    compare::assert_same(source.filesystem(), read.filesystem(), "patch");
    if kernel::is_there() {
        tier::ran("patches that refer to beginnings of extents");
        let mounted = kernel::try_mount_with(&patch, std::slice::from_ref(&base)).unwrap();
        compare::assert_same(source.filesystem(), mounted.tree().filesystem(), "mounted");
        mounted.read_at_random(source.filesystem(), 3);
    }
}

/// A patch and its base, each of some files.
fn patch() -> Versions {
    let versions = Versions::new(None);
    let options = packed(LZ4, 16 << 10);
    versions.build(0, &options, None);
    versions.change(1);
    versions.build(1, &options, Some(0));
    versions
}

fn find(image: &Path, search: &Search) -> Result<Vec<PathBuf>, BaseError> {
    bases::find(image, 0, search).map(|found| found.into_iter().map(|found| found.path).collect())
}

/// Golden images of which nothing can be referred to: compressed data does not end where its pcluster does, as Linux before
/// 5.4 has it, or pclusters are no whole blocks.
const OF_NO_USE: [&str; 3] = ["19-48bit-zstd", "40-unpadded-1.2.1", "41-unpadded-1.5"];

#[test]
fn golden_images_of_erofs_utils_can_be_bases() {
    for golden in golden::all() {
        let (name, files) = (&golden.name, golden.files());
        let (folder, source) = (place::folder(), golden.open());
        let devices = image::devices(&files[0], &files[1..]);
        let opened = lith::reader::Image::open_with(devices, lith::reader::Options::default());
        let block = opened.unwrap().superblock().block;
        let options = packed(LZ4, 16 << 10).with(|o| o.layout.block = block);
        let (full, patch) = (folder.path().join("full"), folder.path().join("patch"));
        let builder = || image::workers(2).builder(golden.open(), &options);
        let full = builder().build_to(full).unwrap().report;
        let search = Search { devices: files[1..].to_vec(), ..Search::default() };
        let built = builder().base(&files[0]).search(search).build_to(&patch).unwrap();
        assert_eq!(built.bases, files.len(), "{name}");
        let (data, all) = (built.report.data_bytes, full.data_bytes);
        let is_useful = golden.tree == "data" && !OF_NO_USE.contains(&&**name);
        assert!(!is_useful || data <= all / 2, "{name}: {data} of {all}");
        let search = Search { directories: vec![golden::folder()], ..Search::default() };
        let found = find(&patch, &search).unwrap();
        let read = image::open_with(&patch, &found);
        compare::assert_same(source.filesystem(), read.filesystem(), name);
        if kernel::is_there() {
            tier::ran("patches of golden images");
            let mounted = kernel::try_mount_with(&patch, &found).unwrap();
            compare::assert_same(source.filesystem(), mounted.tree().filesystem(), name);
        }
    }
}

#[test]
fn a_chain_is_no_longer_than_allowed() {
    let versions = Versions::new(None);
    let options = packed(LZ4, 16 << 10);
    versions.build(0, &options, None);
    versions.build(1, &options, Some(0));
    versions.build(2, &options, Some(1));
    let build = |most| {
        let builder = image::workers(2).builder(image::directory(&versions.tree()), &options);
        builder.base(versions.image(2)).max_bases(most).build_to(versions.image(3))
    };
    let refused = build(2);
    let is_refused =
        matches!(refused, Err(Error::Base(BaseError::TooMany { found: 3, most: 2, .. })));
    assert!(is_refused && !versions.image(3).exists(), "{refused:?}");
    assert_eq!(build(3).unwrap().bases, 3);
    versions.assert_holds(3, "a chain of four");
}

#[test]
fn bases_and_an_image_that_is_the_source_have_devices_of_their_own() {
    let versions = Versions::new(None);
    let options = packed(LZ4, 16 << 10);
    let (base, first) = (versions.image(0), versions.image(1));
    versions.build(0, &options, None);
    versions.change(1);
    versions.build(1, &options, Some(0));
    // The source is another patch, of which the base is elsewhere, as the first one's is.
    let other = versions.folder.path().join("other.erofs");
    let source = versions.folder.path().join("source.erofs");
    let builder = image::workers(2)
        .builder(image::directory(&versions.tree()), &image::compressed(LZ4, 4 << 10));
    builder.build_to(&other).unwrap();
    versions.change(2);
    let builder = image::workers(2).builder(image::directory(&versions.tree()), &options);
    builder.base(&other).build_to(&source).unwrap();
    let elsewhere = versions.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let devices = [&base, &other].map(|path| elsewhere.join(path.file_name().unwrap()));
    for (from, to) in [&base, &other].into_iter().zip(&devices) {
        fs::rename(from, to).unwrap();
    }
    let search = Search { devices: devices.to_vec(), ..Search::default() }.shared();
    let builder =
        lith::Builder::paths([source.clone()], search.clone()).options(|all| *all = options);
    builder.base(&first).search(search.clone()).build_to(versions.image(2)).unwrap();
    let found = find(&versions.image(2), &search).unwrap();
    assert_eq!(found, [first, devices[0].clone()]);
    let read = image::open_with(&versions.image(2), &found);
    compare::assert_same(
        image::directory(&versions.tree()).filesystem(),
        read.filesystem(),
        "built",
    );
    // Not shared, devices that are not the image's own are an error.
    let alone = Search { shared: false, ..search };
    let refused = find(&source, &alone);
    assert!(matches!(refused, Err(BaseError::Other { .. })), "{refused:?}");
}

#[test]
fn a_patch_that_needs_nothing_of_a_packed_inode_has_its_own() {
    let folder = place::folder();
    let (tree, options) = (folder.path().join("tree"), packed(LZ4, 4 << 10));
    fs::create_dir(&tree).unwrap();
    let images: Vec<_> = (0..3).map(|n| folder.path().join(format!("{n}.erofs"))).collect();
    let build = |version: usize, base: Option<usize>| {
        let builder = image::workers(2).builder(image::directory(&tree), &options);
        let builder = match base {
            Some(base) => builder.base(&images[base]),
            None => builder,
        };
        builder.build_to(&images[version]).unwrap();
    };
    let write = |name: &str, seed, len| {
        fs::write(tree.join(name), noise::bytes(Texture::Text, seed, len)).unwrap();
    };
    write("first", 1, 300_000);
    build(0, None);
    write("small", 2, 900);
    build(1, Some(0));
    fs::remove_file(tree.join("first")).unwrap();
    fs::remove_file(tree.join("small")).unwrap();
    write("other", 3, 200_000);
    build(2, Some(1));
    let found = bases::find(&images[2], 0, &Search::default()).unwrap();
    let devices: Vec<_> = found.into_iter().map(|found| found.path).collect();
    let read = image::open_with(&images[2], &devices);
    compare::assert_same(image::directory(&tree).filesystem(), read.filesystem(), "patch");
}

#[test]
fn a_packed_inode_is_no_fragment_of_itself() {
    let folder = place::folder();
    let (tree, options) = (folder.path().join("tree"), packed(LZ4, 4 << 10));
    fs::create_dir(&tree).unwrap();
    // All that the packed inode holds.
    fs::write(tree.join("file"), noise::bytes(Texture::Text, 1, 4373)).unwrap();
    let [base, patch] = ["base", "patch"].map(|name| folder.path().join(name));
    let builder = || image::workers(2).builder(image::directory(&tree), &options);
    builder().build_to(&base).unwrap();
    builder().base(&base).build_to(&patch).unwrap();
    let read = image::open_with(&patch, &[base]);
    compare::assert_same(image::directory(&tree).filesystem(), read.filesystem(), "patch");
}

#[test]
fn pclusters_of_two_devices_never_seem_to_follow_each_other() {
    let folder = place::folder_on_disk();
    let (tree, options) = (folder.path().join("tree"), image::compressed(LZ4, 16 << 10));
    fs::create_dir(&tree).unwrap();
    let [base, patch] = ["base", "patch"].map(|name| folder.path().join(name));
    let mut bytes = noise::bytes(Texture::Text, 1, 1_000_000);
    fs::write(tree.join("file"), &bytes).unwrap();
    let builder = || image::workers(2).builder(image::directory(&tree), &options);
    builder().build_to(&base).unwrap();
    // Both images store the file from the same block on: the new first pcluster would end where the old second one starts.
    bytes[0] ^= 1;
    fs::write(tree.join("file"), &bytes).unwrap();
    builder().base(&base).build_to(&patch).unwrap();
    let devices = image::devices(&patch, std::slice::from_ref(&base));
    let opened = lith::reader::Image::open_with(devices, lith::reader::Options::default()).unwrap();
    let inode = opened.resolve(b"file").unwrap();
    let places: Vec<_> = opened
        .extents(&inode)
        .unwrap()
        .map(|extent| match extent.unwrap() {
            Extent { place: Place::Device(at), plen, .. } => (at.device, at.pa.0..at.pa.0 + plen),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(places.iter().any(|(device, _)| *device == 0), "{places:?}");
    assert!(places.iter().any(|(device, _)| *device == 1), "{places:?}");
    for pair in places.windows(2) {
        let [(device, one), (other, next)] = pair else { unreachable!() };
        let touch = one.end == next.start || next.end == one.start;
        assert!(device == other || !touch, "{pair:?} of {places:?}");
    }
    let source = image::directory(&tree);
    joints::assert_mounted_files(&source, &patch, std::slice::from_ref(&base), "mounted");
}
