//! Linux sees in an image what is in the source tree.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{fs, path::Path};

use lith::{
    builder::Preset,
    codec::Compressor,
    format::{compression::AlgorithmSet, features::Incompat, kernel::KernelVersion},
    source::Source,
    tree::Filesystem,
};
use lith_testkit::{
    compare, image, matrix, nasty, nasty::Nasty, noise, oracle::kernel, place, planted::Planted,
    recipe, tier,
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};

pub(super) fn assert_kernel_sees(source: Filesystem<'_>, path: &Path, what: &str) -> bool {
    let Some(mounted) = kernel::mount(path) else { return false };
    mounted.read_at_random(source, 7);
    compare::assert_same(source, mounted.tree().filesystem(), what);
    mounted.assert_stats(source.tree);
    true
}

/// Inodes and shared attributes are in pages with the same index, whether of the metabox or of the device.
#[test]
fn shared_attributes_of_a_few_files_in_a_metabox() {
    if !kernel::is_there() {
        return;
    }
    let Planted { source, image: path, folder: _folder, .. } =
        Planted::new(nasty::plant_shared_xattrs);
    for words in ["lz4", "zstd,3"] {
        let options = image::with_metabox(image::plain(), words, 4 << 10);
        image::build_at(&path, source.filesystem(), &options);
        assert!(assert_kernel_sees(source.filesystem(), &path, words));
    }
}

/// Without compressed data no algorithm is declared, though indexes name one and announce large pclusters.
#[test]
fn images_without_compressed_data_need_no_algorithm() {
    let Planted { source, image: path, folder: _folder, .. } = Planted::new(|tree| {
        fs::write(tree.join("tiny"), "a").unwrap();
        for (name, len, seed) in [("noise", 300_000, 1), ("tail", 5000, 2), ("small", 90, 3)] {
            fs::write(tree.join(name), noise::bytes(noise::Texture::Noise, seed, len)).unwrap();
        }
    });
    for preset in Preset::ALL {
        for kernel in [(5, 10), (6, 1), (6, 12), (6, 18)].map(|(a, b)| KernelVersion::new(a, b)) {
            let what = format!("{preset} for {kernel}");
            image::build_at(&path, source.filesystem(), &preset.options(kernel));
            let built = lith::Image::open_path(&path).unwrap();
            let sb = built.superblock();
            // Without configurations, all compressed layouts count as LZ4.
            let is_implied = !sb.incompat.contains(Incompat::COMPR_CFGS);
            let implied = if is_implied { AlgorithmSet::LZ4 } else { AlgorithmSet::empty() };
            assert!((sb.algorithms - implied).is_empty(), "{what}: {:?}", sb.algorithms);
            let report = built.check().unwrap();
            assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
            if kernel::is_there() {
                assert!(assert_kernel_sees(source.filesystem(), &path, &what));
            }
        }
    }
}

#[test]
fn the_nasty_tree_in_far_blocks() {
    if !kernel::is_there() {
        return;
    }
    let Planted { source, image: path, folder: _folder, .. } =
        Planted::new(|tree| nasty::plant(tree, Nasty::Whole));
    for (name, options) in matrix::far() {
        image::workers(2).build_at(&path, source.filesystem(), &options);
        assert!(assert_kernel_sees(source.filesystem(), &path, &name));
    }
}

#[test]
fn a_file_over_4_gib() {
    if !kernel::is_there() {
        return;
    }
    let Planted { source, image: path, folder: _folder, .. } =
        Planted::new(|tree| nasty::plant_huge(&tree.join("huge")));
    for options in [image::plain(), image::compressed(Compressor::Lz4, 65536)] {
        image::build_at(&path, source.filesystem(), &options);
        assert!(assert_kernel_sees(source.filesystem(), &path, "over 4 GiB"));
    }
}

#[test]
fn random_trees() {
    if !kernel::is_there() {
        return;
    }
    let folder = place::folder();
    let path = folder.path().join("image");
    let mut runner = TestRunner::deterministic();
    let recipes = recipe::recipes(60);
    let matrix = matrix::all(kernel::most_block_bits());
    for number in 0..60 {
        let (tree, contents) =
            recipes.new_tree(&mut runner).unwrap().current().as_linux_allows().follow();
        let (name, options) = &matrix[number * 7 % matrix.len()];
        let source = Source { tree, contents: Box::new(contents), notes: Vec::new() };
        image::build_at(&path, source.filesystem(), options);
        assert!(assert_kernel_sees(source.filesystem(), &path, name));
    }
}

/// The folders that `LITH_TEST_TREES` names, separated by colons: for the corpora of `bench/`.
#[test]
fn trees_that_are_named() {
    let Some(trees) = std::env::var_os("LITH_TEST_TREES") else {
        return tier::skip("named trees", "LITH_TEST_TREES names none");
    };
    let folder = place::large_folder();
    let path = folder.path().join("image");
    for tree in std::env::split_paths(&trees) {
        let source = image::directory(&tree);
        for compressor in [None, Some(Compressor::Lz4), Some(image::lz4hc(9))] {
            let options = compressor.map_or_else(image::plain, |it| image::compressed(it, 65536));
            image::workers(2).build_at(&path, source.filesystem(), &options);
            if !assert_kernel_sees(source.filesystem(), &path, &tree.to_string_lossy()) {
                return;
            }
        }
    }
}
