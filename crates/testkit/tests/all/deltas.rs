//! Deltas make new images of old ones bit for bit, or nothing.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{
    ffi::OsStr,
    fs,
    io::Read,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use lith::{
    Error,
    builder::{Fragments, Options},
    codec::{Compressor, LzmaEffort},
    delta::{self, Applied, DeltaError, Images, Made},
    device::{FileDevice, MemoryDevice, ReadAt},
};
use lith_testkit::{
    chunks, image, mutation,
    noise::{self, Noise, Texture},
    oracle::tools::Tools,
    place,
};

const ONE: NonZeroUsize = NonZeroUsize::MIN;

fn device(path: &Path) -> Vec<Arc<dyn ReadAt>> {
    vec![Arc::new(FileDevice::open(path).unwrap())]
}

fn options(workers: usize) -> delta::Options<'static> {
    let workers = NonZeroUsize::new(workers).unwrap();
    delta::Options { level: 19, recompress: true, workers, observer: &() }
}

fn make(images: &Images, options: &delta::Options<'_>) -> (Vec<u8>, Made) {
    let mut bytes = Vec::new();
    let made = delta::make(images, &mut bytes, options).unwrap();
    assert_eq!(made.bytes, bytes.len() as u64);
    (bytes, made)
}

fn apply(old: &dyn ReadAt, delta: &[u8]) -> Result<(Vec<u8>, Applied), DeltaError> {
    let mut new = tempfile::tempfile().unwrap();
    let mut reader: &[u8] = delta;
    let applied = delta::apply(old, &mut reader, &new, (ONE, &()))?;
    let mut bytes = Vec::new();
    new.read_to_end(&mut bytes).unwrap();
    Ok((bytes, applied))
}

/// Two versions of a tree, in a folder.
struct Trees(tempfile::TempDir);

impl Trees {
    fn new() -> Self {
        let trees = Self(place::folder());
        fs::create_dir(trees.tree()).unwrap();
        let all = [Texture::Text, Texture::Noise, Texture::Mixed, Texture::Pattern];
        for (texture, seed) in all.into_iter().zip(1..) {
            for len in [900, 5000, 90_000, 700_000] {
                let name = trees.tree().join(format!("{texture:?}-{len}"));
                fs::write(name, noise::bytes(texture, seed, len)).unwrap();
            }
        }
        for number in 0..300 {
            let bytes = noise::bytes(Texture::Text, 100 + number, 1500);
            fs::write(trees.tree().join(format!("small-{number}")), bytes).unwrap();
        }
        trees
    }

    fn tree(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    fn image(&self, version: usize) -> PathBuf {
        self.0.path().join(format!("{version}.erofs"))
    }

    /// Inserts bytes into some files, and renames one.
    fn change(&self) {
        let mut random = Noise::new(7);
        for name in ["Text-700000", "Mixed-700000", "Text-90000", "small-5", "small-77"] {
            let name = self.tree().join(name);
            let mut bytes = fs::read(&name).unwrap();
            let at = random.below(bytes.len());
            bytes.splice(at..at, noise::bytes(Texture::Text, 9, 1 + random.below(100)));
            fs::write(name, bytes).unwrap();
        }
        fs::rename(self.tree().join("Pattern-90000"), self.tree().join("renamed")).unwrap();
    }

    fn build(&self, version: usize, options: &Options) {
        let builder = image::workers(2).builder(image::directory(&self.tree()), options);
        builder.build_to(self.image(version)).unwrap();
    }

    fn images(&self) -> Images {
        Images { old: device(&self.image(1)), new: device(&self.image(2)) }
    }

    fn both(options: &Options) -> Self {
        let trees = Self::new();
        trees.build(1, options);
        trees.change();
        trees.build(2, options);
        trees
    }
}

fn packed(compressor: Compressor, pcluster: u32) -> Options {
    image::with_packing(image::compressed(compressor, pcluster), Fragments::Tails, false)
}

/// Kinds of images, and whether something of them is compressed again.
fn kinds() -> Vec<(&'static str, bool, Options)> {
    let zstd = |level| Compressor::Zstd { level, window: None };
    let lz4 = Compressor::Lz4;
    vec![
        ("plain", false, image::plain()),
        ("chunks", false, chunks::with(image::plain(), 4 << 10)),
        ("lz4, 4K", true, image::compressed(lz4, 4 << 10)),
        ("lz4hc 12, 64K, fragments", true, packed(image::lz4hc(12), 64 << 10)),
        ("lz4, 16K, dedupe", true, {
            image::compressed(lz4, 16 << 10).with(|o| o.compression.dedupe = true)
        }),
        ("lz4hc 5, 16K, tail packing, full indexes", true, {
            let options = image::with_full_index(image::compressed(image::lz4hc(5), 16 << 10));
            image::with_packing(options, Fragments::None, true)
        }),
        ("lz4, 4K, blocks of 512", true, image::with_blocks(packed(lz4, 4 << 10), 9)),
        ("deflate, 32K", true, packed(Compressor::Deflate { level: 6 }, 32 << 10)),
        ("lzma, 64K, all fragments", true, {
            let options = image::compressed(Compressor::Lzma(LzmaEffort::new(1)), 64 << 10);
            image::with_packing(options, Fragments::All, true)
        }),
        ("zstd, 32K, records, 48 bits", true, {
            image::with_records(image::with_48_bits(packed(zstd(3), 32 << 10)))
        }),
        ("zstd, 16K, metabox", true, {
            let options = image::with_48_bits(packed(zstd(9), 16 << 10));
            image::with_metabox(options, "lz4", 4 << 10)
        }),
    ]
}

#[test]
fn new_images_of_every_kind_come_out_bit_for_bit() {
    for (kind, recodes, options_of_images) in kinds() {
        let trees = Trees::both(&options_of_images);
        let (delta, made) = make(&trees.images(), &options(2));
        let (found, applied) = apply(&*device(&trees.image(1))[0], &delta).unwrap();
        assert!(found == fs::read(trees.image(2)).unwrap(), "{kind}");
        assert_eq!(made.copied + made.compressed + made.stored, made.new, "{kind}");
        assert_eq!((applied.copied, applied.compressed), (made.copied, made.compressed), "{kind}");
        assert_eq!(made.compressed > 0, recodes, "{kind}: {made:?}");
        let what_changed = made.new - made.copied;
        assert!(made.bytes < 20_000, "{kind}: {made:?} of {what_changed}");
        let (again, _) = make(&trees.images(), &options(1));
        assert!(again == delta, "{kind}: other workers make another delta");
    }
}

#[test]
fn data_can_be_carried_as_it_is_stored() {
    let trees = Trees::both(&packed(image::lz4hc(9), 16 << 10));
    let (small, _) = make(&trees.images(), &options(2));
    let (delta, made) = make(&trees.images(), &delta::Options { recompress: false, ..options(2) });
    assert!(made.compressed == 0 && delta.len() > small.len(), "{made:?}");
    let (found, applied) = apply(&*device(&trees.image(1))[0], &delta).unwrap();
    assert!(found == fs::read(trees.image(2)).unwrap());
    assert_eq!(applied.compressed, 0);
}

#[test]
fn files_without_structure_and_images_of_other_options_have_deltas_too() {
    let text = noise::bytes(Texture::Text, 1, 300_000);
    let mut longer = text.clone();
    longer.splice(1000..1000, *b"inserted");
    for (old, new) in [
        (text.clone(), longer),
        (Vec::new(), text.clone()),
        (text, Vec::new()),
        (Vec::new(), Vec::new()),
    ] {
        let memory =
            |bytes: &Vec<u8>| -> Arc<dyn ReadAt> { Arc::new(MemoryDevice::new(bytes.clone())) };
        let images = Images { old: vec![memory(&old)], new: vec![memory(&new)] };
        let (delta, _) = make(&images, &options(1));
        assert!(apply(&*memory(&old), &delta).unwrap().0 == new);
    }
    let trees = Trees::new();
    trees.build(1, &image::compressed(image::lz4hc(9), 4 << 10));
    trees.change();
    trees.build(2, &packed("zstd,3".parse().unwrap(), 64 << 10));
    let (delta, made) = make(&trees.images(), &options(2));
    assert!(
        apply(&*device(&trees.image(1))[0], &delta).unwrap().0 == fs::read(trees.image(2)).unwrap()
    );
    assert!(made.bytes < 40_000, "{made:?}");
}

#[test]
fn images_of_erofs_utils_have_deltas() {
    let Some(tools) = Tools::find() else { return };
    for words in ["-zlz4hc,9 -C16384 -Efragments", "-zlzma,6 -Eztailpacking"] {
        let trees = Trees::new();
        let mkfs = |version| {
            let line = format!("{words} --quiet {version}.erofs tree");
            let args: Vec<_> = line.split(' ').map(OsStr::new).collect();
            let _said = tools.expect(trees.0.path(), "mkfs.erofs", &args);
        };
        mkfs(1);
        trees.change();
        mkfs(2);
        let (delta, made) = make(&trees.images(), &options(2));
        let (found, _) = apply(&*device(&trees.image(1))[0], &delta).unwrap();
        assert!(found == fs::read(trees.image(2)).unwrap(), "{words}");
        assert!(made.bytes < made.new / 2, "{words}: {made:?}");
    }
}

#[test]
fn wrong_images_and_damaged_deltas_are_refused_and_nothing_is_replaced() {
    let trees = Trees::both(&packed(Compressor::Lz4, 16 << 10));
    let (delta, _) = make(&trees.images(), &options(2));
    let wrong = apply(&*device(&trees.image(2))[0], &delta);
    assert!(matches!(wrong, Err(DeltaError::WrongOld(_))), "{:?}", wrong.err());
    let mut changed = fs::read(trees.image(1)).unwrap();
    changed[5000] ^= 1;
    let wrong = apply(&MemoryDevice::new(changed), &delta);
    assert!(matches!(wrong, Err(DeltaError::WrongOld(_))), "{:?}", wrong.err());
    let old = MemoryDevice::new(fs::read(trees.image(1)).unwrap());
    let new = fs::read(trees.image(2)).unwrap();
    for end in (0..delta.len()).step_by(delta.len() / 40) {
        assert!(apply(&old, &delta[..end]).is_err(), "{end}");
    }
    for round in 0..200 {
        let mut bytes = delta.clone();
        mutation::mutate(&mut bytes, &[], round);
        if let Ok((found, _)) = apply(&old, &bytes) {
            assert!(found == new, "round {round}");
        }
    }
    let target = trees.0.path().join("target");
    fs::write(&target, "before").unwrap();
    let refused = lith::apply_delta(&old, &mut &delta[..delta.len() / 2], &target, (ONE, &()));
    assert!(matches!(refused, Err(Error::Delta(_))));
    assert_eq!(fs::read(&target).unwrap(), b"before");
    lith::apply_delta(&old, &mut &*delta, &target, (ONE, &())).unwrap();
    assert!(fs::read(&target).unwrap() == new);
    assert_eq!(fs::read_dir(trees.0.path()).unwrap().count(), 4);
}
