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

/// Files of which many begin alike, and two of more than one segment, which is 1 MiB here, of which the second are equal.
fn plant_alike(tree: &Path) {
    let text = |seed, len| noise::bytes(Texture::Text, seed, len);
    let (beginning, shared) = (text(1, 70_001), text(2, 1 << 20));
    for number in 0..12 {
        let end = text(100 + number, 3000 * usize::try_from(number).unwrap());
        fs::write(tree.join(format!("alike{number}")), [&beginning[..], &end].concat()).unwrap();
    }
    for number in 0..2 {
        let long = [&text(200 + number, 1 << 20)[..], &shared, b"end"].concat();
        fs::write(tree.join(format!("long{number}")), long).unwrap();
    }
    // It saves too little, so its pclusters don't stay, to which the next file would refer.
    let raw = [&text(5, 40_000)[..], &noise::bytes(Texture::Noise, 6, 1_100_000)].concat();
    fs::write(tree.join("raw"), raw).unwrap();
    fs::write(tree.join("rawer"), [text(5, 40_000), text(7, 9000)].concat()).unwrap();
    let zeros = [text(8, 100_000), vec![0; 1 << 20], text(9, 100_000)].concat();
    fs::write(tree.join("zeros"), zeros).unwrap();
}

#[test]
fn equal_pclusters_are_stored_once_beside_fragments() {
    let Planted { tree, source, image: path, folder: _folder } = Planted::new(plant_alike);
    let has_kernel = kernel::is_there();
    for (words, pcluster, most) in
        [("lz4", 4096, 80), ("lz4hc,9", 16384, 92), ("lzma,1", 4096, 88), ("zstd,3", 4096, 88)]
    {
        let plain = image::compressed(words.parse().unwrap(), pcluster);
        let plain = plain.with(|o| {
            o.compression.files.as_mut().unwrap().min_saving = 20;
        });
        let each = image::build_directory(&tree, &path, &plain).image_bytes;
        for tail_packing in [false, true] {
            let options = image::with_packing(plain.clone(), Fragments::Tails, tail_packing);
            let name = format!("{words} {pcluster} {tail_packing}");
            for (name, options) in [
                (format!("{name}, 48 bits"), image::with_48_bits(options.clone())),
                (name, options),
            ] {
                let report = image::workers(3).build_directory(&tree, &path, &options);
                let bytes = fs::read(&path).unwrap();
                compare::assert_same(source.filesystem(), image::open(&path).filesystem(), &name);
                if has_kernel {
                    let mounted = kernel::mount(&path).unwrap();
                    compare::assert_same(source.filesystem(), mounted.tree().filesystem(), &name);
                }
                let once = report.image_bytes;
                assert!(once * 100 < each * most, "{name}: {once} bytes, without {each}");
                let again = image::workers(1).build_directory(&tree, &path, &options);
                assert_eq!(again.image_bytes, once);
                assert!(fs::read(&path).unwrap() == bytes, "{name}: it depends on the workers");
            }
        }
    }
}
