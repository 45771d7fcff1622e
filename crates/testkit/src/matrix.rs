//! Lists kinds of images, each with its name.

use lith::{
    builder::{Fragments, Options},
    codec::Compressor,
    format::kernel::KernelVersion,
};

use crate::{
    chunks,
    image::{
        compressed, lz4hc, plain, with_48_bits, with_blocks, with_full_index, with_metabox,
        with_metadata_first, with_packing, with_prefixes, with_records,
    },
    layouts, rules,
};

/// Every kind of image that there is, each with its name, for page sizes up to `most` bits.
#[must_use]
pub fn all(most: u8) -> Vec<(String, Options)> {
    let mut all = vec![("plain".to_owned(), plain())];
    for pcluster in [4 << 10, 16 << 10, 64 << 10, 1 << 20] {
        let kib = pcluster >> 10;
        all.push((format!("lz4 {kib}K"), compressed(Compressor::Lz4, pcluster)));
        all.push((
            format!("lz4 {kib}K full"),
            with_full_index(compressed(Compressor::Lz4, pcluster)),
        ));
        let level = if pcluster == 64 << 10 { 12 } else { 5 };
        all.push((format!("lz4hc,{level} {kib}K"), compressed(lz4hc(level), pcluster)));
    }
    for words in ["lzma,1", "lzma,100", "deflate,1", "deflate,9", "zstd,1", "zstd,15"] {
        for pcluster in [4 << 10, 64 << 10] {
            let options = compressed(words.parse().unwrap(), pcluster);
            all.push((format!("{words} {}K", pcluster >> 10), options.clone()));
            let name = format!("{words} {}K, fragments, tail packing", pcluster >> 10);
            all.push((name, with_packing(options, Fragments::Tails, true)));
        }
    }
    for fragments in [Fragments::None, Fragments::Tails, Fragments::All] {
        for pcluster in [4 << 10, 64 << 10] {
            let options = compressed(Compressor::Lz4, pcluster);
            let name = format!("lz4 {}K, fragments: {fragments:?}, tail packing", pcluster >> 10);
            let options = with_packing(options, fragments, true);
            all.push((format!("{name}, full"), with_full_index(options.clone())));
            all.push((name, options));
        }
    }
    all.extend(rules::kinds());
    all.extend(layouts::kinds());
    all.extend(chunks::kinds());
    for bits in (9..=most).filter(|bits| *bits != 12) {
        let block = 1_u32 << bits;
        let packed = with_blocks(compressed(Compressor::Lz4, block * 4), bits);
        let packed = with_packing(packed, Fragments::Tails, true);
        all.push((format!("lz4, fragments, tail packing, blocks of {block}"), packed));
        all.push((format!("plain, blocks of {block}"), with_blocks(plain(), bits)));
        for pcluster in [block, (block * 8).min(1 << 20)] {
            let options = with_blocks(compressed(Compressor::Lz4, pcluster), bits);
            all.push((format!("lz4 {pcluster}, blocks of {block}"), options.clone()));
            all.push((format!("lz4 {pcluster} full, blocks of {block}"), with_full_index(options)));
        }
    }
    all.extend(newer());
    all
}

/// Images whose data is partly below and mostly above 2^32 blocks, each with its name: 2 TiB, nearly all of them holes.
#[must_use]
pub fn far() -> Vec<(String, Options)> {
    let far = |(name, options): (&str, Options)| {
        let options = with_prefixes(with_48_bits(with_blocks(options, 9)));
        (format!("{name}, far"), options.with(|o| o.layout.data_start = (1 << 32) - 3000))
    };
    let packed = with_packing(compressed(lz4hc(5), 16 << 10), Fragments::Tails, true);
    let all = [
        ("plain", plain()),
        ("lz4 64K", compressed(Compressor::Lz4, 64 << 10)),
        ("chunks 512", chunks::with(plain(), 512)),
        ("lz4 512", with_full_index(compressed(Compressor::Lz4, 512))),
        ("lz4hc 16K, fragments, tail packing", packed.clone()),
        ("lz4hc 16K, fragments, metabox", with_metabox(packed, "lz4", 512)),
    ];
    all.into_iter().map(far).collect()
}

/// Layouts with the metadata before the content.
fn metadata_first() -> impl IntoIterator<Item = (String, Options)> {
    let packed = with_packing(compressed(Compressor::Lz4, 4 << 10), Fragments::Tails, false);
    let all_tails = || with_packing(compressed(lz4hc(5), 16 << 10), Fragments::Tails, true);
    let all = [
        ("lz4hc 16K, fragments, tail packing", all_tails()),
        ("lz4 4K, full", with_full_index(compressed(Compressor::Lz4, 4 << 10))),
        ("lz4hc 16K, 48 bits, prefixes", with_prefixes(with_48_bits(all_tails()))),
        ("chunks 4K", chunks::with(plain(), 4 << 10)),
        ("lz4 512", compressed(Compressor::Lz4, 512)),
        (
            "lz4 64K, aligned",
            compressed(Compressor::Lz4, 64 << 10).with(|o| o.layout.alignment = 16),
        ),
        ("plain, metabox zstd 4K", with_metabox(plain(), "zstd,3", 4 << 10)),
        (
            "lz4 4K, fragments, metabox lzma 64K, prefixes",
            with_prefixes(with_metabox(packed, "lzma,1", 64 << 10)),
        ),
        (
            "lz4hc 16K, fragments, tail packing, 48 bits, metabox 16K",
            with_metabox(with_48_bits(all_tails()), "lz4hc,5", 16 << 10),
        ),
        (
            "lz4 64K, aligned, metabox lz4 64K",
            with_metabox(compressed(Compressor::Lz4, 64 << 10), "lz4", 64 << 10)
                .with(|o| o.layout.alignment = 16),
        ),
        (
            "lz4 4K, records, metabox lz4 4K",
            with_metabox(with_records(compressed(Compressor::Lz4, 4 << 10)), "lz4", 4 << 10),
        ),
    ];
    all.map(|(name, options)| {
        let options = if name == "lz4 512" { with_blocks(options, 9) } else { options };
        (format!("{name}, metadata first"), with_metadata_first(options))
    })
}

/// The newer layouts, each with its name.
fn newer() -> Vec<(String, Options)> {
    let packed = with_packing(compressed(Compressor::Lz4, 4 << 10), Fragments::Tails, false);
    let old = packed.clone().with(|o| o.kernel = KernelVersion::new(6, 4));
    let mut all = vec![
        ("plain, prefixes".to_owned(), with_prefixes(plain())),
        ("lz4 4K, fragments, prefixes".to_owned(), with_prefixes(packed.clone())),
        ("lz4 4K, fragments, prefixes, for Linux 6.4".to_owned(), with_prefixes(old)),
        ("plain, 48 bits".to_owned(), with_48_bits(plain())),
        ("plain, metadata first".to_owned(), with_metadata_first(plain())),
        ("plain, metabox zstd 4K".to_owned(), with_metabox(plain(), "zstd,3", 4 << 10)),
        (
            "lz4 4K, fragments, metabox lzma 64K".to_owned(),
            with_metabox(packed, "lzma,1", 64 << 10),
        ),
    ];
    all.extend(metadata_first());
    let kib = |kib: u32| kib << 10;
    for (words, pcluster) in [
        ("lz4", kib(4)),
        ("lz4hc,12", kib(64)),
        ("lzma,1", kib(1024)),
        ("deflate,1", kib(64)),
        ("zstd,1", kib(64)),
    ] {
        let options = compressed(words.parse().unwrap(), pcluster);
        let fragments =
            |tail_packing| with_packing(options.clone(), Fragments::Tails, tail_packing);
        let boxed = with_metabox(with_prefixes(fragments(true)), words, kib(16));
        let boxed = boxed.with(|o| {
            o.compression.pack_directories = true;
            o.layout.dot_omitted = true;
        });
        let kinds = [
            ("48 bits", with_48_bits(options.clone())),
            ("records", with_records(options.clone())),
            ("fragments, records", with_records(fragments(false))),
            ("fragments, tail packing, 48 bits", with_48_bits(fragments(true))),
            ("metabox 4K", with_metabox(options.clone(), words, kib(4))),
            ("fragments, tail packing, metabox 16K, directories packed", boxed),
        ];
        all.extend(
            kinds.map(|(kind, options)| (format!("{words} {}K, {kind}", pcluster >> 10), options)),
        );
    }
    all
}
