//! Does any change of any byte make the reader panic, hang or take memory?
//!
//! A program of its own, since it measures the peak memory of its process.
//!
//! `LITH_ROUNDS` changes how many changes are tried at random in each image.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test may fail by panicking"
)]

#[path = "all/common.rs"]
mod common;

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use common::{bytes, goldens, open_bytes};
use lith_device::{MemoryDevice, ReadAt};
use lith_format::file_type::FileType;
use lith_reader::{Error, Image, Inode, Options};

/// No single image may take longer, on a slow machine with all checks on.
const PATIENCE: Duration = Duration::from_secs(20);

/// Names examined in one image.
const NAMES: usize = 500;

/// Extents and ranges examined in one file.
const EXTENTS: usize = 2000;

/// The next of a sequence of numbers without pattern.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Reads everything, if not too much, and takes every error.
fn explore(image: &Image) -> Result<(), Error> {
    let mut seen = HashSet::new();
    let mut left = vec![image.root()?];
    left.extend(image.packed_inode());
    left.extend(image.metabox_inode());
    let mut names = 0;
    while let Some(inode) = left.pop() {
        if !seen.insert(inode.nid) {
            continue;
        }
        let _ = image.xattrs_with_hidden(&inode);
        let _ = image.xattr(&inode, b"user.note");
        let _ = image.read_link(&inode);
        explore_content(image, &inode);
        if inode.file_type != FileType::Directory {
            continue;
        }
        let _ = image.lookup(&inode, b"no such name");
        for entry in image.read_dir(&inode)?.with_dots() {
            names += 1;
            let Ok(entry) = entry else { break };
            if names > NAMES {
                return Ok(());
            }
            let _ = image.lookup(&inode, &entry.name);
            left.extend(image.inode(entry.nid));
        }
    }
    let _ = image.resolve_following(b"link/file/../link-short/x");
    Ok(())
}

fn explore_content(image: &Image, inode: &Inode) {
    let Ok(file) = image.file(inode) else { return };
    let mut at = 0;
    for extent in file.extents().take(EXTENTS).map_while(Result::ok) {
        assert!(
            extent.la == at && extent.len > 0 && extent.end() <= file.size(),
            "{extent:?} at {at}"
        );
        at = extent.end();
    }
    at = 0;
    for _ in 0..EXTENTS {
        match file.range_at(at) {
            Ok(Some(
                lith_reader::DataRange::Data { end } | lith_reader::DataRange::Hole { end },
            )) => {
                assert!(end > at);
                at = end;
            }
            _ => break,
        }
    }
    let mut buf = vec![0; 300_000];
    for position in [0, 5000, file.size() / 2, file.size().saturating_sub(100)] {
        let rest = usize::try_from(file.size().saturating_sub(position)).unwrap_or(usize::MAX);
        for length in [100, buf.len()] {
            let part = &mut buf[..length.min(rest)];
            let _ = file.read_at(part, position);
        }
    }
}

/// Opens changed bytes and reads them, within time.
fn survive(devices: Vec<Vec<u8>>, what: &dyn Fn() -> String) {
    let start = Instant::now();
    let boxed =
        devices.into_iter().map(|bytes| Box::new(MemoryDevice::new(bytes)) as Box<dyn ReadAt>);
    if let Ok(image) = Image::open_with(boxed.collect(), Options::default()) {
        let _ = explore(&image);
    }
    assert!(start.elapsed() < PATIENCE, "{} took {:?}", what(), start.elapsed());
}

/// A golden image and its devices as bytes, without the checksum that would catch all changes of block 0.
fn unprotected(golden: &common::Golden) -> Vec<Vec<u8>> {
    let mut image = bytes(&format!("{}.erofs", golden.name));
    image[1024 + 8] &= !1;
    let devices = golden.devices.iter().map(|name| bytes(name));
    std::iter::once(image).chain(devices).collect()
}

/// Where inodes are in the primary device, for changes that count.
fn inode_positions(devices: &[Vec<u8>]) -> Vec<usize> {
    let boxed = devices.iter().cloned().map(|d| Box::new(MemoryDevice::new(d)) as Box<dyn ReadAt>);
    let image = Image::open_with(boxed.collect(), Options::default()).unwrap();
    let mut inodes = vec![image.root().unwrap()];
    let mut at = 0;
    while let Some(inode) = inodes.get(at).copied() {
        at += 1;
        if inode.file_type == FileType::Directory {
            let entries = image.read_dir(&inode).unwrap();
            inodes.extend(entries.map(|entry| image.inode(entry.unwrap().nid).unwrap()));
        }
    }
    inodes.extend(image.packed_inode());
    inodes.extend(image.metabox_inode());
    inodes.retain(|inode| inode.space == lith_reader::Space::Primary);
    inodes.iter().map(|inode| usize::try_from(inode.position).unwrap()).collect()
}

fn rounds(default: u64) -> u64 {
    std::env::var("LITH_ROUNDS").ok().map_or(default, |rounds| rounds.parse().unwrap())
}

#[test]
fn random_changes_of_every_golden_image() {
    for golden in goldens() {
        let devices = unprotected(&golden);
        let positions = inode_positions(&devices);
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for round in 0..rounds(60) {
            let mut devices = devices.clone();
            let mut changes = vec![];
            for _ in 0..=random(&mut state) % 3 {
                let number = random(&mut state);
                let size = devices[0].len() as u64;
                // Half of the changes go to inodes and what follows them, a few to the superblock.
                let at = match number % 8 {
                    0..=3 => {
                        let index = random(&mut state) as usize % positions.len();
                        (positions[index] as u64 + random(&mut state) % 200) % size
                    }
                    4 => (1024 + random(&mut state) % 200) % size,
                    _ => random(&mut state) % size,
                };
                let value = [0, 0xff, 1, 0x80, 0x20, random(&mut state) as u8]
                    [random(&mut state) as usize % 6];
                let byte = &mut devices[0][at as usize];
                *byte = if number & 256 == 0 { value } else { *byte ^ value };
                changes.push((at, *byte));
            }
            survive(devices, &|| format!("{} round {round}: {changes:x?}", golden.name));
        }
    }
    assert_memory_bounded();
}

#[test]
fn each_byte_of_superblock_and_inodes() {
    for name in ["04-lz4hc-16k", "08-fragments", "14-chunks", "18-48bit-lz4hc", "22-metabox-lz4"] {
        let golden = goldens().into_iter().find(|golden| golden.name == name).unwrap();
        let devices = unprotected(&golden);
        let inodes = inode_positions(&devices).into_iter().take(6);
        let ranges = inodes.map(|at| at..at + 64).chain(std::iter::once(1024..1184));
        for at in ranges.flatten() {
            for value in [0, 0xff, devices[0][at] ^ 1, devices[0][at] ^ 0x40] {
                let mut devices = devices.clone();
                devices[0][at] = value;
                survive(devices, &|| format!("{name}: byte {at} = {value:#x}"));
            }
        }
    }
    assert_memory_bounded();
}

#[test]
fn images_cut_off_anywhere() {
    for golden in goldens() {
        let whole = unprotected(&golden);
        let step = whole[0].len() / 40 + 1;
        for length in (0..whole[0].len()).step_by(step) {
            let mut devices = whole.clone();
            devices[0].truncate(length);
            survive(devices, &|| format!("{} cut off at {length}", golden.name));
        }
    }
}

#[test]
fn noise_is_no_image() {
    let mut state = 7;
    for size in [0, 1, 1023, 1024, 1100, 1152, 4096, 100_000] {
        let noise: Vec<u8> = (0..size).map(|_| random(&mut state) as u8).collect();
        let error = open_bytes(noise).unwrap_err();
        assert!(matches!(error, Error::Open { .. }), "{error:?}");
    }
}

/// All images here are small, and so must be what was taken to read them.
fn assert_memory_bounded() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").trim().parse().unwrap();
    assert!(kib < 512 << 10, "took {kib} KiB");
}
