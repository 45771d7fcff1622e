//! Repeated data is stored once, wherever it is, and read back unchanged.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{fs, path::Path};

use lith::builder::{Fragments, Options};
use lith_testkit::{
    compare, image,
    noise::{self, Texture},
    oracle::kernel,
    planted::Planted,
};

/// Files of which each but the first repeats stretches of others or of itself.
fn plant(tree: &Path) {
    let bytes = |texture, seed, len| noise::bytes(texture, seed, len);
    let (text, noise) = (bytes(Texture::Text, 1, 700_001), bytes(Texture::Noise, 2, 400_003));
    let (other, between) = (bytes(Texture::Text, 3, 90_000), bytes(Texture::Text, 4, 33_333));
    let part = |from: usize, to: usize| text.get(from..to).unwrap();
    let files: [(&str, Vec<u8>); 8] = [
        ("a", text.clone()),
        // Its middle, at another place.
        ("b", [&other[..], part(123_457, 600_000), &between].concat()),
        // Its end, and parts in another order.
        ("c", part(350_000, 700_001).to_vec()),
        ("d", [part(400_000, 500_000), part(100_000, 300_000), part(0, 50_000)].concat()),
        // Repeats in the same file, with and without something between.
        (
            "e",
            [&other[..], &between, &other, &between, &bytes(Texture::Text, 5, 70_000), &other]
                .concat(),
        ),
        // What doesn't compress, before and after what does.
        ("f", [&noise[..], part(5, 200_000)].concat()),
        ("g", [part(200_000, 300_000), &noise, b"end"].concat()),
        ("h", [&other[..9], &noise, &text].concat()),
    ];
    for (name, bytes) in files {
        fs::write(tree.join(name), &bytes).unwrap();
    }
}

fn kinds() -> Vec<(String, Options)> {
    let mut all = Vec::new();
    for words in ["lz4", "lz4hc,9", "lzma,1", "deflate,1", "zstd,3"] {
        for pcluster in [4 << 10, 64 << 10] {
            for fragments in [Fragments::None, Fragments::Tails, Fragments::All] {
                for share_duplicates in [false, true] {
                    let options = image::compressed(words.parse().unwrap(), pcluster);
                    let options = image::with_packing(options, fragments, share_duplicates);
                    let name = format!("{words} {pcluster} {fragments:?} {share_duplicates}");
                    let options = options.with(|o| o.layout.share_duplicates = share_duplicates);
                    all.push((format!("{name}, 48 bits"), image::with_48_bits(options.clone())));
                    all.push((name, options));
                }
            }
        }
    }
    all
}

#[test]
fn repeats_are_stored_once_and_come_back() {
    let Planted { tree, source, image: path, folder: _folder } = Planted::new(plant);
    let has_kernel = kernel::is_there();
    for (name, options) in kinds() {
        let once = image::build_directory(&tree, &path, &options).image_bytes;
        let deduped = options.with(|o| o.compression.dedupe = true);
        let report = image::workers(3).build_directory(&tree, &path, &deduped);
        let bytes = fs::read(&path).unwrap();
        compare::assert_same(source.filesystem(), image::open(&path).filesystem(), &name);
        if has_kernel {
            let mounted = kernel::mount(&path).unwrap();
            compare::assert_same(source.filesystem(), mounted.tree().filesystem(), &name);
        }
        assert!(
            report.image_bytes * 10 < once * 8,
            "{name}: {} bytes, without dedupe {once}",
            report.image_bytes
        );
        let again = image::workers(1).build_directory(&tree, &path, &deduped);
        assert_eq!(again.image_bytes, report.image_bytes);
        assert!(fs::read(&path).unwrap() == bytes, "{name}: it depends on the number of workers");
    }
}
