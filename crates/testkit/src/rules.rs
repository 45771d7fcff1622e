//! Options with rules of compression by file.

use lith::{
    builder::{Compression, Files, Fragments, Options, Rule},
    codec::Compressor,
};

use crate::image;

/// A rule for about one of `parts` files, as their names fall; no two numbers below `parts` are for the same ones.
#[must_use]
pub fn one_of(parts: u8, number: u8, compression: Option<Compression>) -> Rule {
    let sum = |path: &[u8]| path.iter().fold(0_u32, |sum, byte| sum + u32::from(*byte));
    let files = Files::new(move |path| sum(path) % u32::from(parts) == u32::from(number));
    Rule { files, compression, second: None }
}

/// Compression with pclusters of so many bytes, with whatever is gained.
#[must_use]
pub const fn by(compressor: Compressor, pcluster: u32) -> Option<Compression> {
    Some(Compression { compressor, pcluster: Some(pcluster), min_saving: 0 })
}

/// The options with these two compressors for each file.
#[must_use]
pub fn with_two(options: Options, [first, second]: [&str; 2], pcluster: u32) -> Options {
    let second = Some(second.parse().unwrap());
    let compression = by(first.parse().unwrap(), pcluster);
    let rules = vec![Rule { files: Files::new(|_| true), compression, second }];
    options.with(|o| o.compression.rules = rules)
}

/// The options with a rule for each of these compressors and pcluster sizes, or `none`, and for equal parts of the files;
/// one further part follows none.
#[must_use]
pub fn with<S: AsRef<str>>(options: Options, words: &[(S, u32)]) -> Options {
    let parts = words.len() as u8 + 1;
    let compression = |(words, pcluster): &(S, u32)| match words.as_ref() {
        "none" => None,
        words => by(words.parse().unwrap(), *pcluster),
    };
    let rule = |(number, words)| one_of(parts, number, compression(words));
    let rules = (0..parts).zip(words).map(rule).collect();
    options.with(|o| o.compression.rules = rules)
}

/// Images of several algorithms, each with its name.
#[must_use]
pub fn kinds() -> Vec<(String, Options)> {
    let all =
        [("lz4", 4096), ("lzma,1", 65536), ("deflate,1", 16384), ("zstd,1", 1 << 20), ("none", 0)];
    let levels = [("lz4hc,3", 65536), ("lz4hc,12", 8192), ("lz4", 65536)];
    let lz4 = image::compressed(Compressor::Lz4, 65536);
    let zstd = image::compressed("zstd,3".parse().unwrap(), 32768);
    let two = |names, pcluster| with_two(image::plain(), names, pcluster);
    let packed = |options, fragments| image::with_packing(options, fragments, true);
    // The erofs-utils find no pcluster beside an inode in a metabox.
    let boxed = image::with_packing(lz4.clone(), Fragments::Tails, false);
    let boxed = image::with_metabox(boxed, "zstd,3", 8192);
    let boxed = boxed.with(|o| o.compression.pack_directories = true);
    [
        ("rules: all algorithms", with(lz4.clone(), &all)),
        ("rules: all algorithms, full", image::with_full_index(with(lz4.clone(), &all))),
        ("rules: all algorithms, plain but for them", with(image::plain(), &all)),
        (
            "rules: levels, fragments, tail packing",
            with(packed(lz4.clone(), Fragments::Tails), &levels),
        ),
        ("rules: lz4 or lzma in each file", two(["lz4", "lzma,1"], 65536)),
        ("rules: deflate or lz4 in each file, 4K", two(["deflate,1", "lz4"], 4096)),
        (
            "rules: lz4 or zstd in each file, full",
            image::with_full_index(two(["lz4", "zstd,1"], 1 << 18)),
        ),
        (
            "rules: lz4 or zstd in each file, tail packing",
            image::with_packing(two(["lz4hc,9", "zstd,9"], 16384), Fragments::None, true),
        ),
        (
            "rules: lz4 or zstd in each file, records",
            image::with_records(two(["lz4", "zstd,1"], 65536)),
        ),
        ("rules: all algorithms, records", image::with_records(with(lz4, &all))),
        ("rules: all algorithms, metabox, directories packed", with(boxed, &all)),
        ("rules: all algorithms, fragments: All", with(packed(zstd, Fragments::All), &all)),
    ]
    .map(|(name, options)| (name.to_owned(), options))
    .into()
}
