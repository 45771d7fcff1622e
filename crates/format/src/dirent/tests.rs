//! Tests packing and parsing of directories, corrupt ones included.

use std::{collections::BTreeSet, vec::Vec};

use proptest::prelude::*;

use super::*;
use crate::{addr::BlockBits, testing::image};

const SMALL: BlockBits = BlockBits::new(9).unwrap();

fn names<'a>(block: &DirBlock<'a>) -> Vec<&'a [u8]> {
    block.dirents().map(|dirent| dirent.unwrap().name).collect()
}

fn pack(names: &[impl AsRef<[u8]>], block: BlockBits) -> Vec<u8> {
    let mut packer = DirPacker::new(block);
    for (name, nid) in names.iter().zip(1..) {
        packer.push(name.as_ref(), Nid(nid), 1).unwrap();
    }
    packer.finish()
}

#[test]
fn reads_and_writes_the_example() {
    let image = image();
    let data = &image[0x4a0..0x4a0 + 74];
    let root = DirBlock::parse(data).unwrap();
    assert_eq!(names(&root), [&b"."[..], b"..", b"dir", b"file", b"link"]);
    let link = root.find(b"link").unwrap().unwrap();
    assert_eq!(link, Dirent { nid: Nid(47), raw_type: 7, name: b"link" });
    assert_eq!(link.file_type(), Some(FileType::Symlink));
    assert_eq!(root.find(b"fil").unwrap(), None);
    let mut packer = DirPacker::new(BlockBits::DEFAULT);
    for dirent in root.dirents() {
        let Dirent { nid, raw_type, name } = dirent.unwrap();
        packer.push(name, nid, raw_type).unwrap();
    }
    assert_eq!(packer.finish(), data);
    assert_eq!(directory_size(names(&root), BlockBits::DEFAULT), 74);
    let dir = DirBlock::parse(&image[0x538..0x538 + 44]).unwrap();
    assert_eq!(names(&dir), [&b"."[..], b"..", b"inner"]);
}

#[test]
fn an_empty_directory_takes_27_bytes() {
    assert_eq!(directory_size(["."; 1], SMALL) + directory_size([".."], SMALL), 27);
    assert_eq!(pack(&[".", ".."], SMALL).len(), 27);
    assert_eq!(directory_size([".."], SMALL), 14);
    assert_eq!(pack(&[""; 0], SMALL), []);
}

#[test]
fn a_name_that_does_not_fit_opens_a_block() {
    let long = |first| [&[first][..], &[b'x'; 243]].concat();
    // Two entries of 256 bytes fill a block to its last byte.
    let packed = pack(&[long(b'a'), long(b'b'), b"c".to_vec()], SMALL);
    assert_eq!(packed.len(), 512 + 13);
    let full = DirBlock::parse(&packed[..512]).unwrap();
    assert_eq!(names(&full), [long(b'a'), long(b'b')]);
    let padded = pack(&[long(b'a'), b"b".to_vec(), long(b'c')], SMALL);
    assert_eq!(padded.len(), 512 + 256);
    assert_eq!(names(&DirBlock::parse(&padded[..512]).unwrap()), [&long(b'a')[..], b"b"]);
    assert_eq!(padded[256 + 13..512], [0; 243]);
}

#[test]
fn the_largest_block_may_be_full_of_names() {
    let block = BlockBits::new(16).unwrap();
    let names: Vec<_> = (0..5000).map(|n| std::format!("{n:05}")).collect();
    let packed = pack(&names, block);
    assert_eq!(packed.len() as u64, directory_size(&names, block));
    let first = DirBlock::parse(&packed[..65536]).unwrap();
    assert_eq!(first.len(), 65536 / 17);
    assert_eq!(first.find(b"03854").unwrap().unwrap().nid, Nid(3855));
}

#[test]
fn the_packer_refuses_what_readers_would() {
    let push = |names: &[&[u8]]| {
        let mut packer = DirPacker::new(SMALL);
        names.iter().map(|name| packer.push(name, Nid(1), 1)).find(Result::is_err)
    };
    let long = [b'n'; 256];
    assert_eq!(push(&[b"a", b"b"]), None);
    assert_eq!(push(&[b""]), Some(Err(DirentError::EmptyName { index: 0 })));
    assert_eq!(push(&[&long[1..]]), None);
    let too_long = DirentError::NameTooLong { index: 0, length: 256 };
    assert_eq!(push(&[&long]), Some(Err(too_long)));
    assert_eq!(push(&[b"a/b"]), Some(Err(DirentError::ForbiddenByte { index: 0, byte: b'/' })));
    assert_eq!(push(&[b"a\0"]), Some(Err(DirentError::ForbiddenByte { index: 0, byte: 0 })));
    assert_eq!(push(&[b"b", b"b"]), Some(Err(DirentError::Unsorted { index: 1 })));
    assert_eq!(push(&[b"b", b"ab"]), Some(Err(DirentError::Unsorted { index: 1 })));
    assert_eq!(push(&[b"!", b".", b"..", b"A", b"\xff"]), None);
}

/// A block of two dirents with these name offsets, and these names after them.
fn block(first: u16, second: u16, names: &[u8]) -> Vec<u8> {
    let dirent = |nameoff: u16| {
        let mut dirent = [0; 12];
        dirent[8..10].copy_from_slice(&nameoff.to_le_bytes());
        dirent
    };
    [&dirent(first), &dirent(second), names].concat()
}

#[test]
fn the_first_offset_counts_the_dirents() {
    for nameoff in [0, 11, 25, 26, 36, 0xfff0] {
        let bytes = block(nameoff, 0, b"ab");
        let error = DirBlock::parse(&bytes).unwrap_err();
        assert_eq!(error, DirentError::FirstNameoff { nameoff, size: 26 });
    }
    let cut = DirBlock::parse(&[0xff; 11]).unwrap_err();
    assert_eq!(cut, DirentError::FirstNameoff { nameoff: 0, size: 11 });
    assert_eq!(DirBlock::parse(&block(24, 25, b"ab")).unwrap().len(), 2);
}

#[test]
fn names_that_break_a_rule_are_told() {
    let get = |second, names: &[u8], index| {
        let bytes = block(24, second, names);
        let got = DirBlock::parse(&bytes).unwrap().get(index);
        got.map(|dirent| dirent.unwrap().name.to_vec())
    };
    assert_eq!(get(25, b"ab", 0), Ok(b"a".to_vec()));
    assert_eq!(get(25, b"ab", 1), Ok(b"b".to_vec()));
    assert_eq!(get(25, b"ab\0c", 1), Ok(b"b".to_vec()));
    let order = |index, start, end| Err(DirentError::NameOrder { index, start, end, size: 26 });
    assert_eq!(get(23, b"ab", 0), order(0, 24, 23));
    assert_eq!(get(23, b"ab", 1), order(1, 23, 26));
    assert_eq!(get(27, b"ab", 0), order(0, 24, 27));
    assert_eq!(get(27, b"ab", 1), order(1, 27, 26));
    assert_eq!(get(24, b"ab", 0), Err(DirentError::EmptyName { index: 0 }));
    assert_eq!(get(26, b"ab", 1), Err(DirentError::EmptyName { index: 1 }));
    assert_eq!(get(25, b"a\0b", 1), Err(DirentError::EmptyName { index: 1 }));
    let forbidden = |index, byte| Err(DirentError::ForbiddenByte { index, byte });
    assert_eq!(get(25, b"/b", 0), forbidden(0, b'/'));
    assert_eq!(get(26, b"a\0b", 0), forbidden(0, 0));
    assert_eq!(get(25, b"ab/", 1), forbidden(1, b'/'));
    let long = Err(DirentError::NameTooLong { index: 1, length: 256 });
    assert_eq!(get(25, &[b'n'; 257], 1), long);
}

#[test]
fn iteration_goes_on_after_a_bad_name() {
    let bytes = block(24, 25, b"/b");
    let parsed = DirBlock::parse(&bytes).unwrap();
    assert_eq!(parsed.len(), 2);
    let found: Vec<_> = parsed.dirents().map(|dirent| dirent.is_ok()).collect();
    assert_eq!(found, [false, true]);
}

/// Which of `blocks` may hold `name`, and its dirent.
fn look_up<'a>(packed: &'a [u8], size: BlockBits, name: &[u8]) -> Option<Dirent<'a>> {
    let blocks: Vec<_> =
        packed.chunks(size.size() as usize).map(|bytes| DirBlock::parse(bytes).unwrap()).collect();
    let at = |index| &blocks[usize::try_from(index).unwrap()];
    let index = search_blocks(blocks.len() as u64, |index| at(index).compare_first(name)).unwrap();
    at(index?).find(name).unwrap()
}

#[test]
fn searching_stops_at_errors_and_finds_nothing_in_nothing() {
    assert_eq!(search_blocks(0, |_| Err(())), Ok(None));
    assert_eq!(search_blocks(u64::MAX, |_| Err(7)), Err(7));
    let mut calls = 0;
    let found = search_blocks::<()>(u64::MAX, |_| {
        calls += 1;
        Ok(core::cmp::Ordering::Greater)
    });
    assert_eq!((found, calls), (Ok(Some(u64::MAX - 1)), 64));
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_filter("no slash, no NUL", |b| !matches!(b, 0 | b'/'));
    proptest::collection::vec(byte, 1..=NAME_MAX)
}

proptest! {
    #[test]
    fn what_is_packed_is_found(names in proptest::collection::btree_set(name(), 1..60)) {
        let names: Vec<_> = BTreeSet::into_iter(names).collect();
        for bits in [9, 10, 12] {
            let size = BlockBits::new(bits).unwrap();
            let packed = pack(&names, size);
            prop_assert_eq!(packed.len() as u64, directory_size(&names, size));
            for (name, nid) in names.iter().zip(1..) {
                let dirent = Dirent { nid: Nid(nid), raw_type: 1, name };
                prop_assert_eq!(look_up(&packed, size, name), Some(dirent));
                let missing = [&name[..], b"!"].concat();
                prop_assert_eq!(look_up(&packed, size, &missing).is_some(), names.contains(&missing));
            }
            let read: Vec<_> = packed
                .chunks(size.size() as usize)
                .flat_map(|bytes| DirBlock::parse(bytes).unwrap().dirents())
                .map(|dirent| dirent.unwrap().name.to_vec())
                .collect();
            prop_assert_eq!(&read, &names);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
        count in 0_u8..20,
    ) {
        if let Some(nameoff) = bytes.get_mut(8..10) {
            nameoff.copy_from_slice(&[count * 12, 0]);
        }
        if let Ok(block) = DirBlock::parse(&bytes) {
            prop_assert_eq!(block.dirents().count(), usize::from(count));
            let _ = block.find(b"name");
        }
    }

    #[test]
    fn damaged_blocks_are_read_or_refused(position in 0_usize..100, byte: u8) {
        let mut bytes = pack(&["a", "bb", "ccc", "dddd", "eeeee", "fffff"], SMALL);
        if let Some(damaged) = bytes.get_mut(position) {
            *damaged = byte;
        }
        if let Ok(block) = DirBlock::parse(&bytes) {
            for dirent in block.dirents().flatten() {
                prop_assert!(check_name(0, dirent.name).is_ok());
            }
        }
    }
}

#[test]
fn unknown_file_types_are_none() {
    assert_eq!(Dirent { nid: Nid(1), raw_type: 9, name: b"." }.file_type(), None);
}
