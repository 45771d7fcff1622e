//! Are SquashFS images read as they are, and is a damaged one refused with a name, and never more than that?

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::common::*;
use lith_device::MemoryDevice;
use lith_source::{
    Excludes, NoteKind, OnError, Opened, Options, Source, SourceError, SquashFsError, is_squashfs,
    open, squashfs,
};
use lith_tree::{DataRange, Kind, dump};

/// Made by tests/golden/squashfs/make.sh.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/squashfs")
}

fn images() -> Vec<(String, Vec<u8>)> {
    let list = fs::read_to_string(folder().join("images.txt")).unwrap();
    let names = list.lines().map(|line| line.split(' ').next().unwrap().to_owned());
    names.map(|name| (name.clone(), fs::read(folder().join(name + ".sqfs")).unwrap())).collect()
}

fn image(name: &str) -> Vec<u8> {
    fs::read(folder().join(format!("{name}.sqfs"))).unwrap()
}

fn read(bytes: Vec<u8>, options: &Options) -> Result<Source, SourceError> {
    squashfs(MemoryDevice::new(bytes), Path::new("image"), options)
}

fn text(source: &Source) -> Result<String, String> {
    let mut text = Vec::new();
    dump(source.filesystem(), &mut text).map_err(|error| chain(&error))?;
    Ok(String::from_utf8(text).unwrap())
}

#[test]
fn images_of_every_compressor_are_their_tree() {
    let expected = fs::read_to_string(folder().join("tree.txt")).unwrap();
    for (name, bytes) in images() {
        let source = read(bytes, &Options::default()).unwrap();
        assert_eq!(source.notes, [], "{name}");
        assert!(text(&source).unwrap() == expected, "{name} differs from tree.txt");
    }
}

#[test]
fn every_position_reads_the_same() {
    for name in ["blocks", "tail-ends", "no-fragments"] {
        let source = read(image(name), &Options::default()).unwrap();
        let tree = &source.tree;
        let inode = tree.find(b"blocks").unwrap();
        let Kind::Regular { size } = tree.get(inode).kind else { panic!("a file") };
        let content = source.contents.open(tree, inode).unwrap();
        let mut whole = vec![0; usize::try_from(size).unwrap()];
        content.read_at(&mut whole, 0).unwrap();
        assert!(whole.starts_with(b"0 lines\n") && whole.ends_with(b"after the hole\n"));
        for start in (0..whole.len()).step_by(977) {
            for length in [1, 4096, 5000] {
                let expected = &whole[start..(start + length).min(whole.len())];
                let mut part = vec![1; expected.len()];
                content.read_at(&mut part, start as u64).unwrap();
                assert!(part == expected, "{name}: {length} bytes at {start}");
            }
        }
        // Four kibibytes of zeros are a hole to mksquashfs, and blocks that lie within the hole are.
        assert_eq!(content.range_at(0).unwrap(), DataRange::Data { end: 8192 });
        assert_eq!(content.range_at(9000).unwrap(), DataRange::Hole { end: 16384 });
        assert_eq!(content.range_at(16384).unwrap(), DataRange::Data { end: size });
    }
}

#[test]
fn options_are_those_of_all_sources() {
    let read = |change: &dyn Fn(&mut Options)| {
        let options = Options::with(|options| change(options));
        read(image("gzip"), &options).unwrap()
    };
    let plain = read(&|options| options.xattrs = false);
    assert!(rows(&plain).values().all(|row| row.xattrs.is_empty()));
    let apart = read(&|options| options.dereference_hard_links = true);
    let is_single = |row: &Row| row.letter == 'd' || row.nlink == 1;
    assert!(rows(&apart).values().all(is_single));
    let without = read(&|options| options.exclude = Excludes::new(["many", "*.x"]).unwrap());
    assert!(without.tree.find(b"many").is_none() && without.tree.find(b"blocks").is_some());
}

#[test]
fn a_path_is_opened_by_its_first_bytes() {
    let path = folder().join("xz.sqfs");
    let Opened::Source(source) = open(&path, &Options::default()).unwrap() else {
        panic!("a tree");
    };
    assert!(source.tree.find(b"shared-1").is_some());
    assert!(is_squashfs(&fs::read(&path).unwrap()) && !is_squashfs(b"hsq"));
    let piped = read_stream(&image("xz"), &Options::default()).unwrap_err();
    assert!(piped.to_string().contains("can't be read as a tar"), "{piped}");
}

#[test]
fn what_is_no_image_of_this_version_is_named() {
    let changed = |at: usize, value: u16| {
        let mut bytes = image("gzip");
        bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        chain(&read(bytes, &Options::default()).unwrap_err())
    };
    for (at, value, expected) in [
        (0, 0, "it is no SquashFS image"),
        (12, 1, "the block size is 131073"),
        (20, 9, "it is compressed by an unknown algorithm, number 9"),
        (28, 3, "it is a SquashFS image of version 3.0; expected 4.0"),
    ] {
        assert!(changed(at, value).contains(expected), "{}", changed(at, value));
    }
    let cut = read(image("gzip")[..95].to_vec(), &Options::default()).unwrap_err();
    assert!(chain(&cut).contains("it is no SquashFS image"), "{}", chain(&cut));
}

/// A damaged byte is refused with a name, or is a different tree: never a panic, a hang, or memory without end.
#[test]
fn any_byte_can_be_damaged() {
    let options = [Options::default(), Options::with(|o| o.on_error = OnError::Skip)];
    for (name, bytes) in images() {
        for round in 0..150_usize {
            let at = round * 7919 % bytes.len();
            // Superblock and tables at the end have most of the fields that others depend on.
            let at = [at, at % 96, bytes.len() - 1 - at % (bytes.len() / 3)][round % 3];
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (round % 8);
            for options in &options {
                match read(damaged.clone(), options) {
                    Ok(source) => drop(text(&source)),
                    Err(SourceError::SquashFs { .. }) => {}
                    Err(other) => panic!("{name}, byte {at}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_cut_image_is_noticed() {
    let bytes = image("zstd");
    for length in (0..bytes.len() - 8).step_by(501) {
        let source = read(bytes[..length].to_vec(), &Options::default());
        assert!(source.is_err(), "{length} bytes");
    }
}

#[test]
fn a_damaged_file_is_left_out_if_requested() {
    // The type of an inode in the uncompressed inode table: no type has that number.
    let mut bytes = image("plain");
    let table = usize::try_from(u64::from_le_bytes(bytes[64..72].try_into().unwrap())).unwrap();
    bytes[table + 2] = 200;
    let error = read(bytes.clone(), &Options::default()).unwrap_err();
    let SourceError::SquashFs { source: SquashFsError::Read { .. }, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(chain(&error).contains("an inode has the unknown type 200"), "{}", chain(&error));
    let source = read(bytes, &Options::with(|o| o.on_error = OnError::Skip)).unwrap();
    let [note] = &*source.notes else { panic!("{:?}", source.notes) };
    assert!(matches!(&note.kind, NoteKind::Unreadable { reason, .. } if reason.contains("200")));
    assert!(source.tree.find(b"shared-1").is_some());
}

#[test]
fn a_directory_within_itself_is_refused() {
    let bytes = image("plain");
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let root = u16::try_from(word(32) & 0xffff).unwrap();
    // Entries have the low half of an inode's address; one of them becomes that of the root, whose high half others share.
    let directory = usize::try_from(word(72)).unwrap();
    let mut refused = 0;
    for at in (directory + 2..directory + 8000).step_by(2) {
        let mut damaged = bytes.clone();
        damaged[at..at + 2].copy_from_slice(&root.to_le_bytes());
        let error = read(damaged, &Options::default()).err();
        let twice = error.as_ref().is_some_and(|error| chain(error).contains("are one directory"));
        refused += usize::from(twice);
    }
    assert!(refused > 0, "no loop was made");
}
