//! Sizes that are estimated come near to those of builds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "in tests failures should be loud, and shares need few digits"
)]

use std::{env, path::PathBuf, sync::Arc};

use lith::{
    builder::{Options, Preset},
    device::MemoryDevice,
    format::kernel::KernelVersion,
    reader::Image,
    tree::{Filesystem, InodeIndex, MemoryContents, Metadata, Name, Tree},
};
use lith_report::{Estimates, estimate, gather};
use lith_testkit::{
    image,
    noise::{self, Texture},
    place, tier,
};

const TIER: &str = "estimates of a real folder";

/// By how much an estimate may differ from the size of a build, in parts of it.
const TOLERANCE: f64 = 0.03;

fn preset(preset: Preset) -> Options {
    preset.options(KernelVersion::DEFAULT)
}

/// Estimates all presets for an image of a tree.
fn estimates(bytes: Vec<u8>, presets: &[Preset]) -> Estimates {
    let image = Arc::new(Image::open(MemoryDevice::new(bytes)).unwrap());
    let facts = gather(&image, lith_report::Options::default()).unwrap();
    let candidates: Vec<_> = presets.iter().map(|each| (each.name(), preset(*each))).collect();
    let folder = place::folder();
    estimate(&image, &facts, &candidates, folder.path()).unwrap()
}

fn assert_near(name: &str, found: &Estimates, sizes: &[u64]) {
    for (found, size) in found.presets.iter().zip(sizes) {
        let difference = found.image as f64 / *size as f64 - 1.0;
        eprintln!("{name}: {}: {} of {size} bytes, {difference:+.4}", found.name, found.image);
        assert!(difference.abs() <= TOLERANCE, "{name}: {found:?}, but it is {size}");
        assert!(!found.is_exact || found.image == *size, "{name}: {found:?}, but it is {size}");
    }
}

/// 82 MB of files of all sizes, whose compressibility changes from folder to folder.
fn tree() -> (Tree, MemoryContents) {
    let (mut tree, mut contents) = (Tree::new(Metadata::default()), MemoryContents::default());
    let mut sizes = noise::Noise::new(7);
    let name = |text: String| Name::new(text.as_bytes()).unwrap();
    for folder in 0..48_u64 {
        let (root, metadata) = (InodeIndex::ROOT, Metadata::default());
        let kind = lith::tree::Kind::directory();
        let parent = tree.add(root, name(format!("folder {folder}")), metadata, kind).unwrap();
        let mut left = 1_700_000;
        for number in 0_u64.. {
            let bits = 8 + sizes.below(12);
            let length = sizes.below(1 << bits).min(left);
            let texture = match (folder % 4, number % 3) {
                (0, _) | (1, 0) => Texture::Text,
                (1, _) | (2, 0) => Texture::Noise,
                _ => Texture::Mixed,
            };
            let bytes = noise::bytes(texture, (folder << 32) | number, length);
            let place = (parent, name(format!("file {number}")));
            contents.add(&mut tree, place, metadata, bytes).unwrap();
            left -= length;
            if left == 0 {
                break;
            }
        }
    }
    (tree, contents)
}

#[test]
fn estimates_of_a_tree_of_everything_are_near() {
    let (tree, contents) = tree();
    let built = |options: &Options| image::build(Filesystem::new(&tree, &contents), options);
    let presets = [Preset::Fast, Preset::Balanced, Preset::Small];
    let images = presets.map(|each| built(&preset(each)));
    let sizes = images.each_ref().map(|bytes| bytes.len() as u64);
    let of_plain = estimates(built(&image::plain()), &presets);
    assert!(!of_plain.is_whole && of_plain.own.is_none(), "{of_plain:?}");
    assert_near("uncompressed", &of_plain, &sizes);
    let [_, balanced, small] = images;
    let of_small = estimates(small, &presets);
    assert_eq!((of_small.own.as_deref(), of_small.presets[2].image), (Some("small"), sizes[2]));
    assert_near("small", &of_small, &sizes);
    assert_eq!(estimates(balanced, &presets[..2]).own.as_deref(), Some("balanced"));
}

/// The libraries of the Rust toolchain that runs the tests, for this machine: some 150 MiB in files of all sizes.
fn toolchain() -> Option<PathBuf> {
    let cargo = PathBuf::from(env::var_os("CARGO")?);
    let libraries = cargo.parent()?.parent()?.join("lib/rustlib");
    let folder = libraries.join(format!("{}-unknown-linux-gnu/lib", env::consts::ARCH));
    folder.is_dir().then_some(folder)
}

#[test]
#[ignore = "takes minutes; the bound is not yet proven on real folders"]
fn estimates_of_a_real_folder_are_near() {
    let Some(folder) = toolchain() else {
        return tier::skip(TIER, "cargo does not say where its toolchain is");
    };
    let source = image::directory(&folder);
    let presets = [Preset::Fast, Preset::Balanced, Preset::Small];
    let sizes = presets.map(|each| image::build(source.filesystem(), &preset(each)).len() as u64);
    let plain = image::build(source.filesystem(), &image::plain());
    let found = estimates(plain, &presets);
    if found.is_whole {
        return tier::skip(TIER, format!("{} has little content", folder.display()));
    }
    tier::ran(TIER);
    assert_near("rustlib", &found, &sizes);
}
