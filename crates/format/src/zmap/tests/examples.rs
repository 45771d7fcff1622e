//! Tests the maps of images made by mkfs.erofs 1.9.3: they decode as they should and encode to the same bytes.

use super::*;

const B: BlockBits = BlockBits::DEFAULT;
const LZ4: ExtentKind = ExtentKind::Compressed { algorithm: 0 };

/// Bytes from hexadecimal digits and spaces.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn ext(llen: u32, blocks: u16, kind: HeadKind) -> EncodedExtent {
    EncodedExtent { llen, blocks, kind, partial: false }
}

/// Opens the compact map that begins 32 bytes into an inode at a multiple of 32.
fn compact(bytes: &[u8], size: u64) -> (IndexMap, IndexTable, SliceSource<'_>) {
    let (map, table) = open(bytes, IndexLayout::Compact, B, (size, 0x20));
    (map, table, source(&table, bytes, 0x20))
}

fn list(map: &IndexMap, source: SliceSource<'_>) -> Vec<(u64, u64, Location, ExtentKind)> {
    let all = map.extents_from(source, La(0)).map(Result::unwrap);
    all.map(|e| (e.la.0, e.llen, e.location, e.kind)).collect()
}

const SEQ: &str = "0000 0000 0700 0000 0010 0428 0100 0000
    0220 0220 0500 0000 0420 1411 0500 0000
    04a8 0038 0012 800b 1101 2a00 0e80 04e0
    c146 800a 8003 2001 5800 ee6b 0500 0000
    04a8 0038 0012 8005 20bb 4680 0a80 0320
    0158 0026 6c04 a800 3800 0a80 1100 0000
    0520 fc1a 1d00 0000 0328 0320 1d00 0000
    0320 0120 2000 0000 9e02 0000 2000 0000";

#[test]
fn big_pclusters_in_compact_packs() {
    let bytes = hex(SEQ);
    let (map, table, source) = compact(&bytes, 180_894);
    assert_eq!(table.size() + 8, bytes.len() as u64);
    let expected = [
        (0, 20_756, 0x1000, 16384),
        (20_756, 20_471, 0x5000, 16384),
        (41_227, 23_036, 0x9000, 16384),
        (64_263, 24_564, 0xd000, 16384),
        (88_827, 24_561, 0x11000, 16384),
        (113_388, 24_605, 0x15000, 16384),
        (137_993, 24_563, 0x19000, 16384),
        (162_556, 18_338, 0x1d000, 12288),
    ];
    let found = list(&map, source);
    assert_eq!(found, expected.map(|(la, llen, pa, plen)| (la, llen, blocks(pa, plen), LZ4)));
    let extents = expected.map(|(_, llen, _, plen)| {
        ext(u32::try_from(llen).unwrap(), u16::try_from(plen / 4096).unwrap(), HeadKind::Head1)
    });
    let params =
        EncodeParams { big_pcluster: true, ..EncodeParams::new(B, 180_894, Blkaddr(1), 0) };
    assert_eq!(encode_compact(&extents, &params, 8).unwrap(), bytes);
}

#[test]
fn single_indexes_of_compact_packs() {
    let bytes = hex(SEQ);
    let (_, table, mut source) = compact(&bytes, 180_894);
    let mut load = |lcn| source.load(Lcn(lcn)).unwrap();
    let nonhead =
        |delta0, delta1, cblkcnt| LclusterIndex::NonHead(NonHead { delta0, delta1, cblkcnt });
    let head = |kind, clusterofs, blkaddr| {
        let blkaddr = Blkaddr(blkaddr);
        LclusterIndex::Head(Head { kind, clusterofs, blkaddr, partial: false, hole: false })
    };
    assert_eq!(load(0), head(HeadKind::Head1, 0, 1));
    assert_eq!(load(1), nonhead(1, 1, Some(4)));
    assert_eq!(load(2), nonhead(2, 3, None));
    assert_eq!(load(3), nonhead(3, 2, None));
    assert_eq!(load(5), head(HeadKind::Head1, 276, 5));
    assert_eq!(load(10), head(HeadKind::Head1, 267, 9));
    assert_eq!(load(21), head(HeadKind::Head1, 2811, 17));
    assert_eq!(load(36), nonhead(3, 3, None));
    assert_eq!(load(37), nonhead(4, 2, None));
    assert_eq!(load(41), nonhead(2, 3, None));
    assert!(matches!(load(44), LclusterIndex::Head(Head { clusterofs: 670, .. })));
    assert_eq!(table.range(Lcn(5)), Ok(0x10..0x18));
    assert_eq!(table.range(Lcn(6)), Ok(0x18..0x38));
    assert_eq!(table.range(Lcn(44)), Ok(0x70..0x78));
    assert_eq!(table.range(Lcn(45)), Err(IndexError::BeyondTable { lcn: Lcn(45), total: 45 }));
}

#[test]
fn tail_fragment() {
    let bytes = hex("0000 0000 3100 0000 0010 b810 0000 0000 af14 4506 0200 0000");
    let (map, _, source) = compact(&bytes, 13_893);
    let fragment = Location::Fragment { offset: 0 };
    let expected = [
        (0, 4280, blocks(0x1000, 4096), LZ4),
        (4280, 5111, blocks(0x2000, 4096), LZ4),
        (9391, 4502, fragment, LZ4),
    ];
    assert_eq!(list(&map, source), expected);
    let kind = HeadKind::Head1;
    let extents = [ext(4280, 1, kind), ext(5111, 1, kind), ext(4502, 1, kind)];
    let params = EncodeParams {
        interlaced: true,
        tail: Tail::Fragment { offset: 0 },
        ..EncodeParams::new(B, 13_893, Blkaddr(1), 0)
    };
    assert_eq!(encode_compact(&extents, &params, 8).unwrap(), bytes);
}

#[test]
fn whole_fragments() {
    let bytes = hex("9611 0000 0000 0080 0000 0000 0000 0000");
    assert_eq!(encode_whole_fragment(4502), *bytes);
    let layout = IndexLayout::Full;
    let context =
        HeaderContext { layout, block_bits: B, features: Incompat::from_bits_retain(0x31) };
    let header = MapHeader::parse(bytes[..8].try_into().unwrap(), context);
    assert_eq!(header, Ok(MapHeader::WholeFragment { offset: 4502 }));
}

#[test]
fn inline_tail_of_the_packed_inode() {
    let bytes = hex("0000 3b0e 1900 0000 0010 6b09 0200 0000");
    let (map, table, source) = compact(&bytes, 6507);
    assert_eq!(list(&map, source), [(0, 6507, Location::Inline { plen: 3643 }, LZ4)]);
    assert_eq!(table.inline_at(), Ok(0x30));
    let params = EncodeParams {
        interlaced: true,
        tail: Tail::Inline { size: 3643 },
        ..EncodeParams::new(B, 6507, Blkaddr(3), 0)
    };
    let extents = [ext(6507, 1, HeadKind::Head1)];
    assert_eq!(encode_compact(&extents, &params, 8).unwrap(), bytes);
}

#[test]
fn inline_tail_beside_big_pclusters() {
    let bytes = hex("0000 2600 0f00 0000 0010 0000 0400 0000");
    let (map, table, source) = compact(&bytes, 2000);
    assert_eq!(list(&map, source), [(0, 2000, Location::Inline { plen: 38 }, LZ4)]);
    assert_eq!(table.inline_at(), Ok(0x30));
    let params = EncodeParams {
        big_pcluster: true,
        tail: Tail::Inline { size: 38 },
        ..EncodeParams::new(B, 2000, Blkaddr(4), 0)
    };
    let extents = [ext(2000, 1, HeadKind::Head1)];
    assert_eq!(encode_compact(&extents, &params, 8).unwrap(), bytes);
}

#[test]
fn one_extent_of_three_blocks() {
    let bytes = hex("0000 0000 0700 0000 0010 0328 0100 0000 0220 4506 0400 0000");
    let (map, _, source) = compact(&bytes, 13_893);
    assert_eq!(list(&map, source), [(0, 13_893, blocks(0x1000, 12288), LZ4)]);
    let params = EncodeParams { big_pcluster: true, ..EncodeParams::new(B, 13_893, Blkaddr(1), 0) };
    let extents = [ext(13_893, 3, HeadKind::Head1)];
    assert_eq!(encode_compact(&extents, &params, 8).unwrap(), bytes);
}

#[test]
fn raw_inline_tail_is_never_rotated() {
    let bytes = hex("0000 a503 1900 0000 0010 ca03 0200 0000");
    let (map, _, source) = compact(&bytes, 0x176f);
    let shifted = ExtentKind::Plain { interlaced: false };
    let expected = [
        (0, 5066, blocks(0x3000, 4096), LZ4),
        (5066, 933, Location::Inline { plen: 933 }, shifted),
    ];
    assert_eq!(list(&map, source), expected);
    let extents = [ext(5066, 1, HeadKind::Head1), ext(933, 1, HeadKind::Plain)];
    let mut params = EncodeParams {
        interlaced: true,
        tail: Tail::Inline { size: 933 },
        ..EncodeParams::new(B, 0x176f, Blkaddr(3), 0)
    };
    let refused = EncodeError::InlinePlainInterlaced { extent: 1 };
    assert_eq!(encode_compact(&extents, &params, 8), Err(refused));
    params.interlaced = false;
    let ours = encode_compact(&extents, &params, 8).unwrap();
    assert_eq!(ours[4], 0x09);
    assert_eq!(ours[8..], bytes[8..]);
}

#[test]
fn records_of_16_bytes() {
    let bytes = hex("0300 0000 0500 0000 0000 0000 0000 0000
        0040 0010 0010 0000 0000 0000 0000 0000
        0040 0010 0050 0000 0000 0000 1251 0000
        0010 0000 0090 0000 0000 0000 0aa1 0000");
    let layout = IndexLayout::Full;
    let context =
        HeaderContext { layout, block_bits: B, features: Incompat::from_bits_retain(0x83) };
    let header = MapHeader::parse(bytes[..8].try_into().unwrap(), context).unwrap();
    let MapHeader::Records(records) = header else { panic!("{header:?}") };
    assert_eq!(records.shape, RecordsShape::Variable { count: 3 });
    assert_eq!(header.encode(B), bytes[..8]);
    let table = RecordTable::new(records, B, 43_893, 0x520).unwrap();
    assert_eq!((table.start(), table.size()), (0x530, 48));

    let mut slice = &bytes[16..];
    let found = record_extents(&table, slice, 43_893).unwrap();
    let plain = ExtentKind::Plain { interlaced: false };
    let expected = [
        (0, 20_754, 0x1000, 16384, LZ4),
        (20_754, 20_472, 0x5000, 16384, LZ4),
        (41_226, 2667, 0x9000, 4096, plain),
    ];
    assert_eq!(found.len(), 3);
    for (e, (la, llen, pa, plen, kind)) in found.iter().zip(expected) {
        assert_eq!((e.la, e.llen, e.location, e.kind), (La(la), llen, blocks(pa, plen), kind));
        for at in [la, la + llen / 2, la + llen - 1] {
            assert_eq!(table.map(&mut slice, La(at), &Anchors::default()).as_ref(), Ok(e));
        }
    }
    let mut again = Vec::new();
    for (la, _, pa, plen, kind) in expected {
        let algorithm = (kind == LZ4).then_some(0);
        ExtentRecord::new(La(la), Pa(pa), plen, algorithm).encode(RecordSize::Sixteen, &mut again);
    }
    assert_eq!(again, slice);
}

#[test]
fn full_indexes() {
    let params = EncodeParams { big_pcluster: true, ..EncodeParams::new(B, 20_000, Blkaddr(7), 0) };
    let extents = [ext(14_000, 2, HeadKind::Head1), ext(6000, 1, HeadKind::Head1)];
    let bytes = encode_full(&extents, &params, None).unwrap();
    let expected = hex("0000 0000 0200 0000 0000 0000 0000 0000
        0100 0000 0700 0000
        0200 0000 0208 0200
        0200 0000 0200 0100
        0100 b006 0900 0000
        0000 200e 0000 0000");
    assert_eq!(bytes, expected);
}
