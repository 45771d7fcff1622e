//! A file's bytes are the same however they are decoded, for any cache size and number of threads.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{fs, num::NonZeroUsize, path::Path, sync::Arc, thread};

use lith::{
    builder::Fragments,
    codec::Compressor,
    device::MemoryDevice,
    reader::{File, Image, Options, ReadAhead, Stats, Way},
    source::Source,
    tree::{InodeIndex, Kind},
};
use lith_testkit::{
    image, matrix,
    noise::{self, Noise, Texture},
    planted::Planted,
};

const WAYS: [Option<Way>; 5] =
    [None, Some(Way::Direct), Some(Way::Buffered), Some(Way::Rolling), Some(Way::InPlace)];

/// Files of all lengths, some of which are much longer than an extent.
fn plant(folder: &Path) {
    for (number, length) in [1, 4095, 4096, 70_000, 300_000, 2_500_000].into_iter().enumerate() {
        for (texture, name) in [(Texture::Text, "text"), (Texture::Noise, "noise")] {
            let bytes = noise::bytes(texture, number as u64, length);
            fs::write(folder.join(format!("{name}{number}")), bytes).unwrap();
        }
    }
    let mut sparse = vec![0; 1_000_000];
    sparse[500_000..].copy_from_slice(&noise::bytes(Texture::Text, 9, 500_000));
    fs::write(folder.join("sparse"), sparse).unwrap();
}

fn open(bytes: &[u8], way: Option<Way>, cache: usize) -> Arc<Image> {
    let mut options = Options::default();
    options.limits.decoded_cache = cache;
    (options.way, options.whole_again) = (way, cache % 2 == 1);
    let device = MemoryDevice::new(bytes.to_vec());
    Arc::new(Image::open_with(vec![Box::new(device)], options).unwrap())
}

fn files(source: &Source) -> Vec<(InodeIndex, u64)> {
    let size = |inode| match source.tree.get(inode).kind {
        Kind::Regular { size: size @ 1.. } => Some((inode, size)),
        _ => None,
    };
    source.tree.walk().filter_map(|visit| size(visit.inode)).collect()
}

/// Reads straight on and at random, in small parts and in large ones.
fn assert_reads(image: &Image, source: &Source, seed: u64, ahead: Option<&ReadAhead>) {
    let mut noise = Noise::new(seed);
    for (inode, size) in files(source) {
        let path = source.tree.path(inode);
        let found = image.resolve(&path).unwrap();
        let file = image.file(&found).unwrap();
        let assert = |position: u64, length: u64| {
            let length = length.min(size - position);
            let _busy = ahead.map(|ahead| ahead.begin_read(&found, position, length));
            assert_range(&file, (source, inode), (position, usize::try_from(length).unwrap()));
        };
        let step = [4096, 100_000, 1 << 20][noise.below(3)];
        (0..size).step_by(step).for_each(|position| assert(position, step as u64));
        for _ in 0..20 {
            assert(noise.next() % size, 1 + noise.next() % [10, 5000, 400_000][noise.below(3)]);
        }
    }
}

fn assert_range(
    file: &File<'_>,
    (source, inode): (&Source, InodeIndex),
    (position, length): (u64, usize),
) {
    let (mut expected, mut found) = (vec![0; length], vec![1; length]);
    let fs = source.filesystem();
    fs.open(inode).unwrap().read_at(&mut expected, position).unwrap();
    file.read_at(&mut found, position).unwrap();
    assert!(expected == found, "{length} bytes at {position}");
    if let Some(kept) = file.kept_at(position) {
        let mut expected = vec![0; kept.bytes().len()];
        fs.open(inode).unwrap().read_at(&mut expected, kept.la).unwrap();
        assert!(expected == kept.bytes(), "the extent at {}", kept.la);
    }
}

#[test]
fn every_way_gives_the_same_bytes() {
    let Planted { source, folder: _folder, .. } = Planted::new(plant);
    let mut used = Stats::default();
    for (name, options) in matrix::all(12).into_iter().step_by(7) {
        let bytes = image::build(source.filesystem(), &options);
        for (number, way) in WAYS.into_iter().enumerate() {
            let image = open(&bytes, way, [0, 100_001, 8 << 20][number % 3]);
            println!("{name}: {way:?}");
            assert_reads(&image, &source, number as u64, None);
            let stats = image.stats();
            assert!(stats.served > 0 && stats.fetched > 0, "{name}: nothing is counted");
            used.direct += stats.direct;
            used.buffered += stats.buffered;
            used.rolling += stats.rolling;
            used.in_place += stats.in_place;
        }
    }
    let all = [used.direct, used.buffered, used.rolling, used.in_place];
    assert!(all.iter().all(|times| *times > 0), "some ways were never gone: {all:?}");
}

#[test]
fn threads_share_what_one_decodes_and_read_ahead_changes_nothing() {
    let Planted { source, folder: _folder, .. } = Planted::new(plant);
    for (name, options) in matrix::all(12).into_iter().step_by(31) {
        let bytes = image::build(source.filesystem(), &options);
        let image = open(&bytes, None, 2 << 20);
        let ahead = ReadAhead::new(Arc::clone(&image), None);
        let listed: Vec<_> = files(&source)
            .iter()
            .map(|(inode, _)| image.resolve(source.tree.path(*inode)).unwrap().nid)
            .collect();
        ahead.listed(&listed);
        thread::scope(|scope| {
            for seed in 0..4 {
                let (image, source, ahead) = (&image, &source, &ahead);
                scope.spawn(move || assert_reads(image, source, seed % 2, Some(ahead)));
            }
        });
        println!("{name}: {:?}", image.stats());
    }
}

#[test]
fn all_files_are_read_with_each_extent_decoded_about_once_in_any_order() {
    const FILES: usize = 1600;
    let Planted { source, folder: _folder, .. } = Planted::new(|tree| {
        // More than is kept in memory.
        for number in 0..FILES {
            let bytes = noise::bytes(Texture::Text, number as u64, 30_000);
            fs::write(tree.join(number.to_string()), bytes).unwrap();
        }
    });
    let options = image::compressed(Compressor::Zstd { level: 1, window: None }, 64 << 10);
    let options = image::with_packing(options, Fragments::All, false);
    let bytes = image::build(source.filesystem(), &options);
    let files = files(&source);
    for threads in [1, 3] {
        let image = open(&bytes, None, 16 << 20);
        image.expect_all_files(NonZeroUsize::new(threads).unwrap());
        let read = |thread: usize| {
            for number in (thread..FILES).step_by(threads) {
                let (inode, size) = files[number * 773 % FILES];
                let found = image.resolve(source.tree.path(inode)).unwrap();
                let file = image.file(&found).unwrap();
                let size = usize::try_from(size).unwrap();
                assert_range(&file, (&source, inode), (0, size));
            }
        };
        let read = &read;
        thread::scope(|scope| {
            for number in 0..threads {
                scope.spawn(move || read(number));
            }
        });
        let content: u64 = files.iter().map(|(_, size)| size).sum();
        let decoded = image.stats().decoded;
        assert!((content..content + content / 50).contains(&decoded), "{threads}: {decoded}");
        let nids: Vec<_> = files
            .iter()
            .map(|(inode, _)| image.resolve(source.tree.path(*inode)).unwrap().nid)
            .collect();
        let groups = image.reading_order(&nids).unwrap();
        let mut all = groups.concat();
        all.sort_unstable();
        assert!(groups.len() > 20 && all.into_iter().eq(0..FILES));
    }
}
