//! Tests that hostile images lead to findings within bounded time and memory.
//!
//! Covers the images of known vulnerabilities of other readers (CVE-2023-33551, CVE-2023-33552, CVE-2024-47736,
//! CVE-2024-53234 and their like), those that require far more work than their size justifies, and thousands of
//! random changes of sound ones.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may end so")]

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use crate::common::{
    build::{BLOCK, Builder, inode, names},
    check, goldens, ids, options,
    patch::seal,
    text, try_check,
};
use lith_check::{Report, Rule};
use lith_format::{
    addr::{Blkaddr, Nid},
    chunk::ChunkFormat,
    file_type::FileType,
    inode::{InodeData, Layout},
    superblock::Superblock,
};

/// Far more than any of these images takes, even on a slow machine that does other things.
const SOON: Duration = Duration::from_secs(60);

fn check_soon(image: Vec<u8>) -> Report {
    let start = Instant::now();
    let report = check(&[image]);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    report
}

/// An image with one file.
fn with_file(mut builder: Builder, file: Nid) -> Vec<u8> {
    let root = builder.reserve(128);
    let content = names(root, root, &[(b"file", file, FileType::Regular)]);
    builder.directory(root, &content, 2);
    builder.finish(root, 2)
}

/// An image with these files, named by their numbers.
fn with_files(mut builder: Builder, files: &[Nid]) -> Vec<u8> {
    let named: Vec<_> = (0..files.len()).map(|index| format!("{index:05}")).collect();
    let entries = named.iter().zip(files);
    let entries: Vec<_> =
        entries.map(|(name, nid)| (name.as_bytes(), *nid, FileType::Regular)).collect();
    let root = builder.reserve(32);
    let content = names(root, root, &entries);
    builder.directory(root, &content, 2);
    builder.finish(root, files.len() as u64 + 1)
}

/// A full index table: its map header, padding and indexes.
fn full_table(advise: u8, indexes: &[[u16; 4]]) -> Vec<u8> {
    let mut table = vec![0; 16];
    table[4] = advise;
    table.extend(indexes.iter().flatten().flat_map(|field| field.to_le_bytes()));
    table
}

const HEAD1: u16 = 1;
const NONHEAD: u16 = 2;
const CBLKCNT: u16 = 0x800;
const BIG_PCLUSTERS: u8 = 6;

fn compressed(size: u64, blocks: u64) -> lith_format::inode::Inode {
    let mut file = inode(FileType::Regular, size);
    file.layout = Layout::CompressedFull;
    file.data = InodeData::Compressed { blocks };
    file
}

/// An LZ4 stream of literals only, at the end of so many blocks.
fn literals(length: usize, blocks: usize) -> Vec<u8> {
    let mut stream = vec![0xf0];
    let mut rest = length - 15;
    while rest >= 255 {
        stream.push(255);
        rest -= 255;
    }
    stream.push(u8::try_from(rest).unwrap());
    stream.extend((0..length).map(|index| b'a' + u8::try_from(index % 26).unwrap()));
    let mut pcluster = vec![0; blocks * BLOCK - stream.len()];
    assert!(pcluster.len() < BLOCK);
    pcluster.extend(stream);
    pcluster
}

/// Declares pclusters of several blocks.
fn with_configs(builder: &mut Builder) {
    builder.compressed();
    builder.sb.incompat |= lith_format::features::Incompat::COMPR_CFGS;
    builder.sb.algorithms = lith_format::compression::AlgorithmSet::LZ4;
    let mut configs = vec![14, 0, 0xff, 0xff, 0, 1];
    configs.resize(16, 0);
    builder.put(1024 + 128, &configs);
    builder.reserve(configs.len());
}

#[test]
fn what_is_built_here_can_be_sound() {
    let mut builder = Builder::new(1);
    builder.compressed();
    let file = builder.reserve(128);
    let start = builder.data(&literals(4000, 1));
    let head = [HEAD1, 0, u16::try_from(start.0).unwrap(), 0];
    builder.write(file, &compressed(4000, 1), &[&[0; 0][..], &full_table(0, &[head])].concat());
    let report = check_soon(with_file(builder, file));
    // The end marker is missing where the extent's HEAD is in the last lcluster itself.
    assert!(report.is_clean(), "{}", text(&report));
    assert_eq!(report.counts.decoded_bytes, 4000);
}

#[test]
fn a_compressed_extent_that_is_not_smaller_is_found() {
    let mut builder = Builder::new(1);
    with_configs(&mut builder);
    let file = builder.reserve(128);
    let start = u16::try_from(builder.data(&literals(8192, 3)).0).unwrap();
    let plain = u16::try_from(builder.data(&[7; 100]).0).unwrap();
    let indexes = [[HEAD1, 0, start, 0], [NONHEAD, 0, CBLKCNT | 3, 1], [0, 0, plain, 0]];
    builder.write(file, &compressed(8292, 4), &full_table(BIG_PCLUSTERS, &indexes));
    let report = check_soon(with_file(builder, file));
    assert_eq!(ids(&report), ["extent-not-smaller"].into(), "{}", text(&report));
}

#[test]
fn deep_directories_are_walked_and_their_paths_cut() {
    const DEPTH: usize = 6000;
    let mut builder = Builder::new(DEPTH / 8);
    let name = [b'n'; 255];
    let nids: Vec<_> = (0..DEPTH).map(|_| builder.reserve(400)).collect();
    for (depth, nid) in nids.iter().enumerate() {
        let parent = nids[depth.saturating_sub(1)];
        let child = nids.get(depth + 1).map(|child| (&name[..], *child, FileType::Directory));
        let content = names(*nid, parent, child.as_slice());
        let nlink = if child.is_some() { 3 } else { 5 };
        builder.directory(*nid, &content, nlink);
    }
    let report = check_soon(builder.finish(nids[0], DEPTH as u64));
    assert_eq!(ids(&report), ["nlink-wrong"].into());
    let path = report.findings[0].path.as_deref().unwrap();
    assert!(path.starts_with(b".../") && path.ends_with(&name) && path.len() <= 4100);
    assert_eq!(report.counts.directories, DEPTH as u64);
}

#[test]
fn directories_that_share_their_names_are_read_within_a_budget() {
    // Each of 4000 directories has the same two megabytes of names, which lead to all 4000.
    let mut builder = Builder::new(40);
    let nids: Vec<_> = (0..4000).map(|_| builder.reserve(32)).collect();
    let many: Vec<_> = (0..8000).map(|index| format!("{index:0200}")).collect();
    let entries: Vec<_> = many
        .iter()
        .enumerate()
        .map(|(index, name)| (name.as_bytes(), nids[index % nids.len()], FileType::Directory))
        .collect();
    let content = names(nids[0], nids[0], &entries);
    let start = builder.data(&content);
    let mut directory = inode(FileType::Directory, content.len() as u64);
    directory.layout = Layout::FlatPlain;
    directory.data = InodeData::Blocks { start: Some(start) };
    for nid in &nids {
        builder.write(*nid, &directory, &[]);
    }
    let report = check_soon(builder.finish(nids[0], 4000));
    assert!(report.truncated);
    let found = ids(&report);
    assert!(found.contains("work-limit") && found.contains("dir-loop"), "{found:?}");
}

#[test]
fn overlapping_maps_are_read_within_a_budget() {
    // Each inode's chunk table is made of the inodes that follow it.
    let mut builder = Builder::new(64);
    let nids: Vec<_> = (0..7000).map(|_| builder.reserve(32)).collect();
    let mut file = inode(FileType::Regular, 0x0fff_ffff);
    file.layout = Layout::ChunkBased;
    file.data = InodeData::Chunked(ChunkFormat::new(0, false, false).unwrap());
    for nid in &nids {
        builder.write(*nid, &file, &[]);
    }
    let report = check_soon(with_files(builder, &nids));
    assert!(
        ids(&report).is_superset(&["work-limit", "inode-overlap"].into()),
        "{:?}",
        ids(&report)
    );
}

#[test]
fn overlapping_pclusters_are_decoded_within_a_budget() {
    // Each extent's pcluster has 1 MiB and starts a block after the preceding one.
    const EXTENTS: u16 = 1500;
    let mut builder = Builder::new(16);
    with_configs(&mut builder);
    let file = builder.reserve(40_000);
    let noise: Vec<u8> = (0..8 << 20).map(|index: u32| 1 | index.to_le_bytes()[1]).collect();
    let start = u16::try_from(builder.data(&noise).0).unwrap();
    let indexes: Vec<_> = (0..EXTENTS)
        .flat_map(|index| [[HEAD1, 0, start + index, 0], [NONHEAD, 0, CBLKCNT | 256, 1]])
        .collect();
    let size = u64::from(EXTENTS) * 8192;
    builder.write(file, &compressed(size, 0), &full_table(BIG_PCLUSTERS, &indexes));
    let report = check_soon(with_file(builder, file));
    assert!(ids(&report).contains("work-limit"), "{:?}", ids(&report));
    assert!(ids(&report).contains("extent-overlap"));
}

#[test]
fn overlapping_xattrs_are_read_within_a_budget() {
    let mut builder = Builder::new(100);
    let nids: Vec<_> = (0..1000).map(|_| builder.reserve(32)).collect();
    let mut file = inode(FileType::Regular, 0);
    file.xattr_icount = u16::MAX;
    for nid in &nids {
        builder.write(*nid, &file, &[]);
    }
    let report = check_soon(with_files(builder, &nids));
    assert!(ids(&report).contains("work-limit"), "{:?}", ids(&report));
}

#[test]
fn files_of_the_largest_size_take_no_time() {
    let sizes = [u64::from(u32::MAX), (1 << 63) - 1];
    for size in sizes {
        for layout in 0..=4 {
            let mut builder = Builder::new(1);
            let file = builder.reserve(1024);
            let mut huge = inode(FileType::Regular, size);
            huge.form = lith_format::inode::InodeForm::Extended;
            huge.layout = Layout::try_from(layout).unwrap();
            huge.data = match huge.layout {
                Layout::FlatPlain | Layout::FlatInline => {
                    InodeData::Blocks { start: Some(Blkaddr(1)) }
                }
                Layout::ChunkBased => {
                    InodeData::Chunked(ChunkFormat::new(31, false, false).unwrap())
                }
                _ => InodeData::Compressed { blocks: 0 },
            };
            builder.write(file, &huge, &[0; 512]);
            let report = check_soon(with_file(builder, file));
            assert!(!report.is_sound(), "{size} {layout}: {}", text(&report));
        }
    }
}

/// A generator of numbers, the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }

    /// Changes an image somewhere, rather where metadata is.
    fn change(&mut self, image: &mut [u8]) {
        const INTERESTING: [u8; 8] = [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, 0x10];
        let changes = 1 + self.next(4);
        for _ in 0..changes {
            let span = if self.next(3) == 0 { image.len() } else { image.len().min(4096) };
            let at = self.next(span);
            let width = [1, 1, 2, 4, 8, 32][self.next(6)];
            let value = INTERESTING[self.next(8)];
            let mode = self.next(3);
            for byte in image.iter_mut().skip(at).take(width) {
                *byte = match mode {
                    0 => value,
                    1 => *byte ^ 1 << self.next(8),
                    _ => u8::try_from(self.next(256)).unwrap(),
                };
            }
        }
    }
}

#[test]
fn thousands_of_changes_end_in_findings_only() {
    let names = [
        "01-plain",
        "04-lz4hc-16k",
        "06-legacy-compress",
        "10-dedupe",
        "12-fragments-ztail",
        "14-chunks",
        "15-blobdev",
        "18-48bit-lz4hc",
        "20-dot-omitted",
        "22-metabox-lz4",
        "26-directory-data",
        "27-xattr-prefix",
        "31-block-512-lz4hc",
    ];
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let mut found = BTreeSet::new();
    let start = Instant::now();
    for golden in goldens().into_iter().filter(|golden| names.contains(&&*golden.name)) {
        let sb = Superblock::parse(&golden.devices[0][1024..]).unwrap();
        for round in 0..400 {
            let mut devices = golden.devices.clone();
            numbers.change(&mut devices[0]);
            seal(&mut devices[0], &sb);
            let began = Instant::now();
            // Changes that make it no image, or one of other devices, are errors.
            if let Ok(report) = try_check(&devices, &options(1)) {
                found.extend(ids(&report));
            }
            let time = began.elapsed();
            assert!(time < SOON, "{} round {round}: {time:?}", golden.name);
        }
    }
    assert!(start.elapsed() < 4 * SOON, "{:?}", start.elapsed());
    assert!(found.len() > 30, "{found:?}");
}

#[test]
fn images_cut_off_at_any_block_are_found() {
    for golden in goldens() {
        let sb = Superblock::parse(&golden.devices[0][1024..]).unwrap();
        let block = usize::try_from(sb.block.size()).unwrap();
        let whole = golden.devices[0].len();
        for length in (0..whole).step_by(block).chain([whole - 1]) {
            let mut devices = golden.devices.clone();
            devices[0].truncate(length);
            match try_check(&devices, &options(1)) {
                Ok(report) => assert!(report.errors() != 0, "{} at {length}", golden.name),
                Err(_) => assert!(length < 2048, "{} at {length}", golden.name),
            }
        }
        let mut devices = golden.devices.clone();
        if let Some(last) = devices.get_mut(1) {
            last.truncate(last.len() - 1);
            assert!(check(&devices).by_rule.contains_key(&Rule::SbBlocks), "{}", golden.name);
        }
    }
}
