//! Images that refer to others hold what their sources hold, and take wrong bases for what they are.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

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
    source::Source,
};
use lith_testkit::{
    chunks, compare, image, nasty,
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
        let folder = place::folder();
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
        assert!(report.as_ref().unwrap().findings.is_empty(), "{what}: {report:?}");
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
    let options =
        ["-zlz4hc -C65536 -Efragments", "-zlzma,2 -C65536 -Eztailpacking", "-zdeflate", "-x-1"];
    for words in options {
        let versions = Versions::new(None);
        let line = format!("{words} --quiet 0.erofs tree");
        let args: Vec<_> = line.split(' ').map(OsStr::new).collect();
        let _said = tools.expect(versions.folder.path(), "mkfs.erofs", &args);
        versions.change(1);
        let patch = packed(LZ4, 16 << 10);
        let full = versions.build(2, &patch, None);
        let size = versions.build(1, &patch, Some(0));
        assert!(size < full / 2, "{words}: {size} of {full}");
        versions.assert_holds(1, words);
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

#[test]
fn wrong_bases_are_refused() {
    let versions = patch();
    let (base, image) = (versions.image(0), versions.image(1));
    let beside = Search::default();
    assert_eq!(find(&image, &beside).unwrap().len(), 1);
    let elsewhere = versions.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let moved = elsewhere.join("0.erofs");
    fs::rename(&base, &moved).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Missing { .. })));
    let folder = Search { directories: vec![elsewhere], ..Search::default() };
    assert_eq!(find(&image, &folder).unwrap(), std::slice::from_ref(&moved));
    let given = |path: &Path| Search { devices: vec![path.to_owned()], ..Search::default() };
    assert_eq!(find(&image, &given(&moved)).unwrap(), std::slice::from_ref(&moved));
    let whole = fs::read(&moved).unwrap();
    fs::write(&base, &whole[..whole.len() - 4096]).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Length { .. })));
    fs::write(&base, [&whole[..], &[0]].concat()).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Length { .. })));
    fs::remove_file(&base).unwrap();
    fs::hard_link(&image, &base).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Cycle { .. })));
    assert!(matches!(find(&image, &given(&image)), Err(BaseError::Cycle { .. })));
    fs::remove_file(&base).unwrap();
    versions.build(0, &image::compressed(LZ4, 4 << 10), None);
    assert!(matches!(find(&image, &beside), Err(BaseError::Other { .. })));
    fs::write(&base, &whole).unwrap();
    let file = fs::File::options().write(true).open(&base).unwrap();
    file.write_all_at(b"x", 3000).unwrap();
    assert!(matches!(find(&image, &beside), Err(BaseError::Changed { .. })));
    // Far from the beginning only a comparison of all bytes shows it, which a build makes.
    fs::write(&base, &whole).unwrap();
    file.write_all_at(b"x", whole.len() as u64 / 2).unwrap();
    assert_eq!(find(&image, &beside).unwrap().len(), 1);
    let options = packed(LZ4, 16 << 10);
    let builder = image::builder(image::directory(&versions.tree()), &options);
    let failed = builder.base(&image).build_to(versions.image(2));
    assert!(matches!(failed, Err(Error::Base(BaseError::Changed { .. }))), "{failed:?}");
}

#[test]
fn a_build_refuses_bases_that_can_not_be() {
    let versions = patch();
    let builder = |options: &Options| {
        image::builder(image::directory(&versions.tree()), options).base(versions.image(0))
    };
    let blocks = image::with_blocks(packed(LZ4, 4 << 10), 9);
    let failed = builder(&blocks).build_to(versions.image(2));
    assert!(matches!(failed, Err(Error::Base(BaseError::BlockSize { .. }))), "{failed:?}");
    let old = Options::uncompressed().with(|o| o.kernel = "5.10".parse().unwrap());
    assert!(matches!(builder(&old).build_to(versions.image(2)), Err(Error::Build(_))));
    let before = fs::read(versions.image(0)).unwrap();
    let failed = builder(&packed(LZ4, 16 << 10)).build_to(versions.image(0));
    assert!(matches!(failed, Err(Error::Target { .. })), "{failed:?}");
    assert_eq!(fs::read(versions.image(0)).unwrap(), before);
    assert!(!versions.image(2).exists());
}

#[test]
fn a_damaged_head_of_a_patch_is_an_error() {
    let versions = patch();
    let image = versions.image(1);
    let file = fs::File::options().write(true).open(&image).unwrap();
    let whole = fs::read(&image).unwrap();
    // Superblock, device table and note, each byte.
    for at in 1024..1024 + 1024 {
        for change in [1, 0x80, 0xff] {
            file.write_all_at(&[whole[at] ^ change], at as u64).unwrap();
            let found = find(&image, &Search::default());
            if let Ok(found) = found {
                let devices = image::devices(&image, &found);
                let options = lith::reader::Options::default();
                let _no_panic = lith::reader::Image::open_with(devices, options);
            }
        }
        file.write_all_at(&whole[at..=at], at as u64).unwrap();
    }
}

/// Writes files of a layer, each as `name=seed`, with `name-` for a whiteout and `name>other` for a hard link.
fn plant_layer(folder: &Path, lines: &str) {
    for line in lines.split(' ') {
        let end = line.find(['=', '-', '>']).unwrap();
        let (path, rest) = (folder.join(&line[..end]), &line[end + 1..]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match &line[end..=end] {
            "=" => {
                let seed: u32 = rest.parse().unwrap();
                let len = 1000 + 60_000 * seed as usize;
                let bytes = noise::bytes(Texture::Mixed, seed.into(), len);
                fs::write(path, bytes).unwrap();
            }
            ">" => fs::hard_link(folder.join(rest), path).unwrap(),
            _ => {
                let mode = rustix::fs::Mode::empty();
                let kind = rustix::fs::FileType::CharacterDevice;
                rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
            }
        }
    }
}

#[test]
fn layers_are_merged_by_reference_and_by_copying() {
    if !rustix::process::geteuid().is_root() {
        return tier::skip("merged layers", "only root makes whiteouts");
    }
    let lines =
        ["a=1 d/b=2 d/c=3 e/x=4 big=40", "d/b=5 d/new=6 e/link>d/new gone-", "a=7 d/c- big=39"];
    let kinds = [
        ("plain", image::plain()),
        ("chunks", chunks::with(image::plain(), 4 << 10)),
        ("lz4, fragments", packed(LZ4, 16 << 10)),
        ("zstd, tail packing", {
            image::with_packing(image::compressed(zstd(), 32 << 10), Fragments::None, true)
        }),
    ];
    for (what, options) in kinds {
        let versions = Versions { folder: place::folder() };
        let mut layers = Vec::new();
        for (number, lines) in lines.into_iter().enumerate() {
            let tree = versions.folder.path().join(format!("tree-{number}"));
            fs::create_dir(&tree).unwrap();
            plant_layer(&tree, lines);
            let path = versions.folder.path().join(format!("layer-{number}.erofs"));
            let _report = image::build_directory(&tree, &path, &options);
            layers.push(path);
        }
        let sources = || layers.iter().map(|path| image::open(path)).collect::<Vec<_>>();
        let merged = || lith::source::merge(sources()).unwrap();
        for copy in [false, true] {
            let builder = image::workers(2).builder(merged(), &options);
            let builder = layers.iter().fold(builder, lith::Builder::base);
            let builder = if copy { builder.copied_layers() } else { builder.layers() };
            let size = builder.build_to(versions.image(1)).unwrap().report.image_bytes;
            let all: u64 = layers.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
            assert!(size < if copy { all } else { all / 8 }, "{what}, {copy}: {size} of {all}");
            versions.assert_is(&merged(), 1, what);
        }
    }
}
