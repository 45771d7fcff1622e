//! Tests reading and writing of inodes, corrupt ones included.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::{file_type::FileTypeError, testing::image};

const NARROW: InodeContext = InodeContext { epoch: 1_700_000_000, fixed_nsec: 0, wide: false };
const WIDE: InodeContext = InodeContext { wide: true, ..NARROW };

fn plain() -> Inode {
    Inode {
        form: InodeForm::Compact,
        layout: Layout::FlatPlain,
        file_type: FileType::Regular,
        mode: 0o100_644,
        nlink: 1,
        size: 5000,
        uid: 0,
        gid: 0,
        mtime: NARROW.epoch,
        mtime_nsec: 0,
        xattr_icount: 0,
        ino: 7,
        dot_omitted: false,
        data: InodeData::Blocks { start: Some(Blkaddr(3)) },
    }
}

fn encoded(inode: &Inode, context: &InodeContext) -> Result<Vec<u8>, InodeEncodeError> {
    let mut bytes = Vec::new();
    inode.encode_into(context, &mut bytes)?;
    Ok(bytes)
}

#[test]
fn reads_and_writes_the_example() {
    let image = image();
    let root = Inode::parse(&image[0x480..], &NARROW).unwrap();
    let expected = Inode {
        layout: Layout::FlatInline,
        file_type: FileType::Directory,
        mode: 0o40_755,
        nlink: 3,
        size: 74,
        ino: 1,
        data: InodeData::Blocks { start: None },
        ..plain()
    };
    assert_eq!(root, expected);
    assert_eq!(root.layout_area(), 32);
    let dir = Inode::parse(&image[0x500..], &NARROW).unwrap();
    assert_eq!((dir.xattr_size(), dir.layout_area()), (24, 56));
    for position in [0x480, 0x500, 0x580, 0x5e0, 0x620] {
        let inode = Inode::parse(&image[position..], &NARROW).unwrap();
        assert_eq!(encoded(&inode, &NARROW).unwrap(), image[position..position + 32]);
    }
}

#[test]
fn what_old_kernels_and_utils_do_not_know_is_refused() {
    let patched = |position: usize, byte| {
        let mut bytes = encoded(&plain(), &NARROW).unwrap();
        bytes[position] = byte;
        Inode::parse(&bytes, &NARROW).unwrap_err()
    };
    assert_eq!(patched(0, 0x20), InodeError::UnknownFormat { format: 0x20 });
    assert_eq!(patched(1, 0x80), InodeError::UnknownFormat { format: 0x8000 });
    assert_eq!(patched(0, 5 << 1), InodeError::Layout { raw: 5 });
    assert_eq!(patched(5, 0), FileTypeError::Mode { mode: 0o244 }.into());
    assert_eq!(patched(0, 1), InodeError::Truncated { found: 32, needed: 64 });
    assert!(patched(0, 5 << 1).is_unsupported() && !patched(5, 0).is_unsupported());
    assert_eq!(Inode::parse(&[], &NARROW), Err(InodeError::Truncated { found: 0, needed: 32 }));
}

#[test]
fn negative_sizes_are_refused() {
    let inode = Inode { form: InodeForm::Extended, ..plain() };
    let mut bytes = encoded(&inode, &NARROW).unwrap();
    bytes[15] = 0x80;
    let size = 5000 + (1 << 63);
    assert_eq!(Inode::parse(&bytes, &NARROW), Err(InodeError::Size { size }));
    assert!(encoded(&Inode { size, ..inode }, &NARROW).is_err());
}

#[test]
fn compact_inodes_are_for_small_numbers_and_the_epoch() {
    let needs = |change: fn(&mut Inode), context| {
        let mut inode = plain();
        change(&mut inode);
        inode.smallest_form(&context) == InodeForm::Extended
    };
    assert!(!needs(|_| {}, NARROW));
    assert!(!needs(|i| (i.uid, i.gid, i.nlink) = (65535, 65535, 65535), NARROW));
    assert!(needs(|i| i.uid = 65536, NARROW));
    assert!(needs(|i| i.gid = 65536, NARROW));
    assert!(needs(|i| i.nlink = 65536, NARROW));
    assert!(!needs(|i| i.size = 0xffff_ffff, NARROW));
    assert!(needs(|i| i.size = 1 << 32, NARROW));
    assert!(needs(|i| i.mtime += 1, NARROW));
    assert!(!needs(|i| i.mtime += 1, WIDE));
    assert!(!needs(|i| i.mtime += i64::from(u32::MAX), WIDE));
    assert!(needs(|i| i.mtime += 1 << 32, WIDE));
    assert!(needs(|i| i.mtime = i64::MIN, WIDE));
    assert!(needs(|i| i.mtime_nsec = 1, WIDE));
}

#[test]
fn wide_addresses_cost_a_compact_inode_its_links() {
    let at = |start| Inode { data: InodeData::Blocks { start: Some(Blkaddr(start)) }, ..plain() };
    let wide = at((1 << 32) + 10);
    assert_eq!(wide.smallest_form(&WIDE), InodeForm::Compact);
    assert_eq!(Inode { nlink: 2, ..wide }.smallest_form(&WIDE), InodeForm::Extended);
    let directory = Inode { file_type: FileType::Directory, mode: 0o40_755, ..wide };
    assert_eq!(directory.smallest_form(&WIDE), InodeForm::Extended);
    let bytes = encoded(&wide, &WIDE).unwrap();
    assert_eq!((bytes[0], bytes[6]), (0x10, 1));
    assert_eq!(Inode::parse(&bytes, &WIDE), Ok(wide));
}

#[test]
fn no_address_is_all_ones_as_wide_as_the_image() {
    let hole = Inode { data: InodeData::Blocks { start: None }, ..plain() };
    for context in [NARROW, WIDE] {
        for form in [InodeForm::Compact, InodeForm::Extended] {
            let inode = Inode { form, ..hole };
            let bytes = encoded(&inode, &context).unwrap();
            assert_eq!(bytes[16..20] == [0xff; 4], form == InodeForm::Compact || bytes[16] == 0xff);
            let wide_hi = form == InodeForm::Extended && context.wide;
            assert_eq!(bytes[6..8] == [0xff; 2], wide_hi);
            assert_eq!(Inode::parse(&bytes, &context), Ok(inode));
        }
    }
    let last = Inode { data: InodeData::Blocks { start: Some(Blkaddr(0xffff_ffff)) }, ..plain() };
    assert_eq!(last.smallest_form(&WIDE), InodeForm::Extended);
    assert!(encoded(&Inode { form: InodeForm::Extended, ..last }, &WIDE).is_ok());
    assert!(encoded(&Inode { form: InodeForm::Extended, ..last }, &NARROW).is_err());
}

#[test]
fn directories_may_leave_dot_out_in_both_forms() {
    for form in [InodeForm::Compact, InodeForm::Extended] {
        let dir = Inode {
            form,
            file_type: FileType::Directory,
            mode: 0o40_755,
            nlink: 9,
            dot_omitted: true,
            ..plain()
        };
        assert_eq!(Inode::parse(&encoded(&dir, &WIDE).unwrap(), &WIDE), Ok(dir));
    }
}

#[test]
fn data_must_suit_layout_and_kind() {
    let chunked = InodeData::Chunked(ChunkFormat::new(0, true, false).unwrap());
    let misfits = [
        Inode { data: InodeData::None, ..plain() },
        Inode { data: InodeData::Device(Rdev::default()), ..plain() },
        Inode { data: InodeData::Compressed { blocks: 1 }, ..plain() },
        Inode { data: chunked, ..plain() },
        Inode { layout: Layout::ChunkBased, ..plain() },
        Inode { mode: 0o20_644, ..plain() },
    ];
    for inode in misfits {
        let error = encoded(&inode, &NARROW).unwrap_err();
        assert!(matches!(error, InodeEncodeError::Mismatch { .. }), "{error}");
    }
}

fn layout_and_data() -> impl Strategy<Value = (Layout, u16, InodeData)> {
    let content = prop_oneof![Just(0o100_000_u16), Just(0o40_000), Just(0o120_000)];
    let address = prop_oneof![0..=0xffff_fffe_u64, 1_u64 << 32..(1 << 48) - 1];
    let flat = prop_oneof![Just(Layout::FlatPlain), Just(Layout::FlatInline)];
    let compressed = prop_oneof![Just(Layout::CompressedFull), Just(Layout::CompressedCompact)];
    let chunks = (0_u8..32, any::<bool>(), any::<bool>())
        .prop_map(|(bits, indexes, wide)| ChunkFormat::new(bits, indexes, wide).unwrap());
    prop_oneof![
        (flat, content.clone(), proptest::option::of(address.clone()))
            .prop_map(|(l, m, start)| { (l, m, InodeData::Blocks { start: start.map(Blkaddr) },) }),
        (compressed, content.clone(), address).prop_map(|(l, m, blocks)| (
            l,
            m,
            InodeData::Compressed { blocks }
        )),
        (content, chunks).prop_map(|(m, f)| (Layout::ChunkBased, m, InodeData::Chunked(f))),
        (any::<bool>(), 0..=0xfff_u32, 0..=0xf_ffff_u32).prop_map(|(block, major, minor)| {
            let mode = if block { 0o60_000 } else { 0o20_000 };
            (Layout::FlatPlain, mode, InodeData::Device(Rdev { major, minor }))
        }),
        prop_oneof![Just(0o10_000_u16), Just(0o140_000)].prop_map(|mode| (
            Layout::FlatPlain,
            mode,
            InodeData::None
        )),
    ]
}

prop_compose! {
    fn inodes()(
        (layout, kind, data) in layout_and_data(),
        permissions in 0_u16..=0o7777,
        small: bool,
        size in 0..1_u64 << 63,
        (uid, gid, nlink) in any::<(u32, u32, u32)>(),
        (mtime, mtime_nsec) in any::<(i64, u32)>(),
        (xattr_icount, ino, flag) in any::<(u16, u32, bool)>(),
    ) -> Inode {
        let mode = kind | permissions;
        let file_type = FileType::from_mode(mode).unwrap();
        let low = |value: u32| if small { value & 0xffff } else { value };
        Inode {
            form: InodeForm::Extended,
            layout,
            file_type,
            mode,
            nlink: low(nlink),
            size: if small { size & 0xffff_ffff } else { size },
            uid: low(uid),
            gid: low(gid),
            mtime: if small { WIDE.epoch + (mtime & 0xffff_ffff) } else { mtime },
            mtime_nsec: if small { 0 } else { mtime_nsec },
            xattr_icount,
            ino,
            dot_omitted: flag && file_type == FileType::Directory,
            data,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(inode in inodes(), wide: bool) {
        let context = InodeContext { wide, ..NARROW };
        let smallest = Inode { form: inode.smallest_form(&context), ..inode };
        for inode in [inode, smallest] {
            let bytes = encoded(&inode, &context).unwrap();
            prop_assert_eq!(bytes.len(), inode.size_on_disk());
            prop_assert_eq!(Inode::parse(&bytes, &context), Ok(inode));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..80),
        epoch: i64,
        wide: bool,
    ) {
        let context = InodeContext { epoch, fixed_nsec: 0, wide };
        let _ = Inode::parse(&bytes, &context);
        if let Some([low, high, ..]) = bytes.get_mut(..2) {
            (*low, *high) = (*low & 0x1f, 0);
        }
        if let Ok(inode) = Inode::parse(&bytes, &context) {
            prop_assert!(inode.layout_area() >= inode.body_end());
            let _ = inode.smallest_form(&context);
        }
    }
}
