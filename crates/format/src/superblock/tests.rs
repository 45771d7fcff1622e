//! Tests reading and writing of superblocks, corrupt ones included.

use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;
use crate::{
    addr::{Blkaddr, BlockBits, Nid},
    compression::AlgorithmSet,
    features::{Compat, Incompat},
    kernel::{KernelVersion, Reason, min_kernel, requirements},
    testing::{hex, image},
};

fn example() -> Vec<u8> {
    image().split_off(1024)
}

/// A well-formed superblock's bytes with `bytes` at `position`.
fn patched(position: usize, bytes: &[u8]) -> Vec<u8> {
    let mut sb = example();
    sb[position..position + bytes.len()].copy_from_slice(bytes);
    sb
}

#[test]
fn reads_the_example() {
    let sb = Superblock::parse(&example()).unwrap();
    let mut expected = Superblock::new(BlockBits::DEFAULT);
    expected.compat = Compat::SB_CHKSUM | Compat::MTIME | Compat::XATTR_FILTER;
    expected.checksum = 0xC2D4_487F;
    expected.root_nid = Nid(36);
    expected.inos = 5;
    expected.epoch = 1_700_000_000;
    expected.blocks = 1;
    expected.volume_name[..4].copy_from_slice(b"demo");
    assert_eq!(sb, expected);
    assert_eq!(sb.label(), b"demo");
    assert_eq!(min_kernel(&sb), KernelVersion::new(5, 4));
}

#[test]
fn writes_the_example_but_for_its_checksum() {
    let sb = Superblock::parse(&example()).unwrap();
    assert_eq!(sb.encode().unwrap(), patched(4, &[0; 4])[..128]);
}

#[test]
fn checksum_covers_the_rest_of_the_block() {
    let block = BlockBits::DEFAULT;
    assert_eq!(checksum(&example(), block), Ok(0xC2D4_487F));
    assert_eq!(verify_checksum(&example(), block), Ok(()));
    let damaged = patched(3071, &[1]);
    let error = verify_checksum(&damaged, block).unwrap_err();
    assert!(matches!(error, SuperblockError::Checksum { stored: 0xC2D4_487F, .. }), "{error}");
    let cut = checksum(&example()[..3071], block);
    assert_eq!(cut, Err(SuperblockError::Truncated { found: 3071, needed: 3072 }));
}

#[test]
fn small_blocks_are_covered_whole() {
    let sizes: Vec<_> =
        (9..=12).map(|bits| checksummed_size(BlockBits::new(bits).unwrap())).collect();
    assert_eq!(sizes, [512, 1024, 1024, 3072]);
}

#[test]
fn refuses_what_linux_refuses() {
    let cases = [
        (patched(0, &[0]), SuperblockError::Magic { found: 0xE0F5_E100 }),
        (patched(0x0c, &[8]), SuperblockError::BlockBits { found: 8 }),
        (patched(0x0c, &[17]), SuperblockError::BlockBits { found: 17 }),
        (patched(0x5a, &[1]), SuperblockError::DirBlockBits { found: 1 }),
        (patched(0x51, &[2]), SuperblockError::UnknownIncompat { bits: 0x200 }),
        (patched(0x51, &[1]), SuperblockError::NoExtSlot),
        (patched(0x50, &hex("02000000 1100")), SuperblockError::UnknownAlgorithms { bits: 0x10 }),
        (patched(0x0d, &[185]), SuperblockError::TooLarge { size: 3088 }),
        (patched(0x08, &[0x20]), SuperblockError::IsharePrefix { id: 0, count: 0 }),
        (example()[..127].to_vec(), SuperblockError::Truncated { found: 127, needed: 128 }),
    ];
    for (bytes, error) in cases {
        assert_eq!(Superblock::parse(&bytes), Err(error));
    }
}

#[test]
fn packed_and_metabox_inodes_stay_outside_the_metabox() {
    let nid = Nid(Nid::METABOX | 3);
    let mut sb = Superblock::new(BlockBits::DEFAULT);
    sb.incompat = Incompat::FRAGMENTS;
    sb.packed_nid = Some(nid);
    assert_eq!(sb.encode(), Err(SuperblockError::InMetabox { inode: "packed", nid }));
    let mut bytes = patched(0x50, &[0x20]);
    bytes[0x60..0x68].copy_from_slice(&nid.0.to_le_bytes());
    assert_eq!(Superblock::parse(&bytes), Err(SuperblockError::InMetabox { inode: "packed", nid }));
}

#[test]
fn fields_count_only_with_their_feature() {
    let mut bytes = example();
    bytes[0x56..0x58].copy_from_slice(&[7, 0]);
    bytes[0x60] = 9;
    let sb = Superblock::parse(&bytes).unwrap();
    assert_eq!((sb.extra_devices, sb.packed_nid, sb.ishare_xattr_prefix_id), (0, None, None));
    bytes[0x50] = 0x28;
    let sb = Superblock::parse(&bytes).unwrap();
    assert_eq!((sb.extra_devices, sb.packed_nid), (7, Some(Nid(9))));
}

#[test]
fn lz4_is_inferred_without_config_records() {
    let sb = |incompat, word: [u8; 2]| {
        let mut bytes = patched(0x50, &[incompat]);
        bytes[0x54..0x56].copy_from_slice(&word);
        Superblock::parse(&bytes).unwrap()
    };
    assert_eq!(sb(0x31, [0xff, 0xff]).algorithms, AlgorithmSet::LZ4);
    assert_eq!(sb(0x31, [0xff, 0xff]).lz4_max_distance, 0xffff);
    assert_eq!(sb(1, [0, 0]).algorithms, AlgorithmSet::LZ4);
    assert_eq!(sb(0, [0, 0]).algorithms, AlgorithmSet::empty());
    let all = sb(3, [0xf, 0]);
    assert_eq!((all.algorithms, all.lz4_max_distance), (AlgorithmSet::all(), 0));
}

#[test]
fn root_and_blocks_change_shape_with_48_bits() {
    let mut sb = Superblock::new(BlockBits::DEFAULT);
    sb.root_nid = Nid(0x10000);
    assert_eq!(sb.encode(), Err(SuperblockError::RootNid { nid: Nid(0x10000) }));
    sb.incompat = Incompat::BITS_48;
    assert_eq!(Superblock::parse(&sb.encode().unwrap()), Ok(sb.clone()));
    sb.blocks = 1 << 40;
    assert_eq!(Superblock::parse(&sb.encode().unwrap()), Ok(sb.clone()));
    sb.blocks = 1 << 48;
    assert_eq!(sb.encode(), Err(SuperblockError::Field { field: "blocks", found: 1 << 48 }));
    sb.root_nid = Nid(36);
    sb.blocks = 5;
    assert_eq!(sb.encode().unwrap()[0x0e], 36);
}

#[test]
fn a_metabox_makes_144_bytes() {
    let mut sb = Superblock::new(BlockBits::DEFAULT);
    sb.incompat = Incompat::METABOX | Incompat::BITS_48;
    sb.metabox_nid = Some(Nid(77));
    sb.root_nid = Nid(Nid::METABOX);
    sb.ext_slots = 1;
    let bytes = sb.encode().unwrap();
    assert_eq!(bytes.len(), 144);
    assert_eq!(Superblock::parse(&bytes), Ok(sb));
    let cut = Superblock::parse(&bytes[..143]);
    assert_eq!(cut, Err(SuperblockError::Truncated { found: 143, needed: 144 }));
}

#[test]
fn kernels_follow_from_features_algorithms_and_blocks() {
    let kernel = |incompat, algorithms, bits| {
        let mut sb = Superblock::new(BlockBits::new(bits).unwrap());
        sb.incompat = incompat;
        sb.algorithms = algorithms;
        let KernelVersion { major, minor } = min_kernel(&sb);
        (major, minor)
    };
    let none = AlgorithmSet::empty();
    let lz4 = AlgorithmSet::LZ4;
    let big = Incompat::LZ4_0PADDING | Incompat::COMPR_CFGS;
    assert_eq!(kernel(Incompat::empty(), none, 12), (5, 4));
    assert_eq!(kernel(Incompat::LZ4_0PADDING, lz4, 12), (5, 4));
    assert_eq!(kernel(big, lz4, 12), (5, 13));
    assert_eq!(kernel(big, AlgorithmSet::LZMA, 12), (5, 16));
    assert_eq!(kernel(big, AlgorithmSet::DEFLATE | lz4, 12), (6, 6));
    assert_eq!(kernel(big | Incompat::FRAGMENTS, AlgorithmSet::ZSTD, 12), (6, 10));
    assert_eq!(kernel(Incompat::DEVICE_TABLE, none, 9), (6, 4));
    assert_eq!(kernel(Incompat::LZ4_0PADDING, lz4, 11), (6, 8));
    assert_eq!(kernel(Incompat::CHUNKED_FILE, none, 14), (5, 15));
    assert_eq!(kernel(Incompat::BITS_48 | Incompat::METABOX, none, 12), (6, 17));
}

#[test]
fn requirements_name_their_reasons() {
    let mut sb = Superblock::new(BlockBits::new(10).unwrap());
    sb.incompat = Incompat::LZ4_0PADDING | Incompat::FRAGMENTS;
    sb.algorithms = AlgorithmSet::LZ4 | AlgorithmSet::ZSTD;
    let found: Vec<_> =
        requirements(&sb).iter().map(|r| std::format!("{}: {}", r.since, r.reason)).collect();
    let expected = [
        "6.1: feature fragments/dedupe",
        "6.10: algorithm zstd",
        "6.8: compression in blocks of 1024 bytes",
    ];
    assert_eq!(found, expected);
    let large = Superblock::new(BlockBits::new(14).unwrap());
    assert_eq!(requirements(&large)[0].reason, Reason::LargeBlocks(large.block));
}

prop_compose! {
    fn fields()(
        bits in 9_u8..=16,
        numbers in any::<[u64; 4]>(),
        halves in any::<[u32; 6]>(),
        words in any::<[u16; 3]>(),
        texts in any::<[[u8; 16]; 2]>(),
        ext_slots in 0_u8..=184,
        prefix_count in 0_u8..=128,
        ids in any::<[u8; 2]>(),
    ) -> Superblock {
        let mut sb = Superblock::new(BlockBits::new(bits).unwrap());
        sb.ext_slots = ext_slots;
        sb.inos = numbers[0];
        sb.blocks = numbers[1];
        sb.epoch = numbers[2].cast_signed();
        sb.packed_nid = Some(Nid(numbers[3])).filter(|nid| nid.0 != 0);
        sb.fixed_nsec = halves[0];
        sb.build_time = halves[1];
        sb.meta_blkaddr = Blkaddr(halves[2].into());
        sb.xattr_blkaddr = Blkaddr(halves[3].into());
        sb.xattr_prefix_start = halves[4];
        sb.compat = Compat::from_bits_retain(halves[5]);
        sb.extra_devices = words[0];
        sb.devt_slotoff = words[1];
        sb.lz4_max_distance = words[2];
        [sb.uuid, sb.volume_name] = texts;
        sb.xattr_prefix_count = prefix_count;
        sb.xattr_filter_reserved = ids[0];
        sb.ishare_xattr_prefix_id = Some(ids[1]);
        sb
    }
}

/// Makes a superblock of any fields one that its features allow.
fn consistent(mut sb: Superblock, incompat: u16, root: u64, metabox: u64, set: u16) -> Superblock {
    sb.incompat = Incompat::from_bits_truncate(incompat.into());
    let has = |bit| sb.incompat.contains(bit);
    let wide = has(Incompat::BITS_48) && root != 0;
    sb.root_nid = Nid(if wide { root } else { root & 0xffff });
    sb.blocks &= if wide { (1 << 48) - 1 } else { u64::from(u32::MAX) };
    let outside = |nid: Nid| Nid(nid.0 & !Nid::METABOX);
    sb.packed_nid = sb.packed_nid.filter(|_| has(Incompat::FRAGMENTS)).map(outside);
    sb.packed_nid = sb.packed_nid.filter(|nid| nid.0 != 0);
    sb.metabox_nid = has(Incompat::METABOX).then_some(outside(Nid(metabox)));
    sb.ext_slots = sb.ext_slots.max(u8::from(sb.metabox_nid.is_some()));
    sb.extra_devices = if has(Incompat::DEVICE_TABLE) { sb.extra_devices } else { 0 };
    let id = sb.ishare_xattr_prefix_id.unwrap_or(0);
    sb.compat.set(Compat::ISHARE_XATTRS, id < sb.xattr_prefix_count);
    sb.ishare_xattr_prefix_id = (id < sb.xattr_prefix_count).then_some(id);
    if has(Incompat::COMPR_CFGS) {
        (sb.algorithms, sb.lz4_max_distance) = (AlgorithmSet::from_bits_truncate(set), 0);
    } else if has(Incompat::LZ4_0PADDING) || sb.lz4_max_distance != 0 {
        sb.algorithms = AlgorithmSet::LZ4;
    }
    sb
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        sb in fields(), incompat: u16, root: u64, metabox: u64, set: u16,
    ) {
        let sb = consistent(sb, incompat, root, metabox, set);
        let bytes = sb.encode().unwrap();
        prop_assert_eq!(bytes.len(), sb.size());
        prop_assert_eq!(Superblock::parse(&bytes), Ok(sb));
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Superblock::parse(&bytes);
        let sound = [0xe2, 0xe1, 0xf5, 0xe0];
        for (byte, sound) in bytes.iter_mut().zip(sound) {
            *byte = sound;
        }
        for (position, sound) in [(0x0c, 12), (0x5a, 0), (0x51, 1), (0x52, 0), (0x53, 0)] {
            if let Some(byte) = bytes.get_mut(position) {
                *byte = sound;
            }
        }
        if let Ok(sb) = Superblock::parse(&bytes) {
            let again = sb.encode().unwrap();
            prop_assert_eq!(Superblock::parse(&again), Ok(Superblock { checksum: 0, ..sb }));
        }
    }
}

#[test]
fn vectors_of_zeros_are_no_superblock() {
    assert_eq!(Superblock::parse(&vec![0; 4096]), Err(SuperblockError::Magic { found: 0 }));
}
