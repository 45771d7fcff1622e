//! Tests that corrupt maps are answered by an error, soon and without panic, and broken extents refused.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const B: BlockBits = BlockBits::DEFAULT;

fn header(
    bytes: [u8; 8],
    layout: IndexLayout,
    features: Incompat,
) -> Result<MapHeader, HeaderError> {
    MapHeader::parse(bytes, HeaderContext { layout, block_bits: B, features })
}

#[test]
fn headers_that_kernels_refuse() {
    let parse = |advise: u16, rest: u64, layout, incompat| {
        let features = Incompat::from_bits_retain(incompat);
        header((u64::from(advise) << 32 | rest).to_le_bytes(), layout, features)
    };
    let (full, compact) = (IndexLayout::Full, IndexLayout::Compact);
    let differ = |advise| Err(HeaderError::BigPclusterBitsDiffer { advise });
    assert_eq!(parse(3, 0, compact, 2), differ(3));
    assert_eq!(parse(5, 0, compact, 2), differ(5));
    assert!(parse(2, 0, full, 2).is_ok());
    let unannounced = |advise| Err(HeaderError::BigPclusterNotAnnounced { advise });
    assert_eq!(parse(7, 0, compact, 1), unannounced(7));
    assert_eq!(parse(2, 0, full, 0x30), unannounced(2));
    let large = Err(HeaderError::LclusterTooLarge { lcluster_bits: 15 });
    assert_eq!(parse(1, 3 << 56, compact, 2), large);
    let Ok(MapHeader::Indexes(wide)) = parse(0, 3 << 56, full, 2) else { panic!() };
    assert_eq!(wide.lcluster_bits, 15);
    let inline = Err(HeaderError::InlineTooLarge { found: 4097, block_size: 4096 });
    assert_eq!(parse(9, 4097 << 16, compact, 2), inline);
    // FRAGMENT wins over INLINE, unknown flags are kept.
    let Ok(MapHeader::Indexes(both)) = parse(0x8028, 4097 << 16, full, 0x30) else { panic!() };
    assert_eq!(
        (both.idata_size, both.fragment_off_lo, both.advise.bits()),
        (0, 4097 << 16, 0x8028)
    );
}

fn ext(llen: u32, blocks: u16, kind: HeadKind) -> EncodedExtent {
    EncodedExtent { llen, blocks, kind, partial: false }
}

fn params(size: u64, big_pcluster: bool) -> EncodeParams {
    EncodeParams { big_pcluster, ..EncodeParams::new(B, size, Blkaddr(1), 0) }
}

fn try_compact(extents: &[EncodedExtent], big: bool) -> Option<EncodeError> {
    let size = extents.iter().map(|e| u64::from(e.llen)).sum();
    encode_compact(extents, &params(size, big), 0).err()
}

#[test]
fn extents_that_no_table_can_hold() {
    use EncodeError as E;
    let (h, p) = (HeadKind::Head1, HeadKind::Plain);
    let one = |llen, blocks, kind| try_compact(&[ext(llen, blocks, kind)], true);
    let refused = [
        (one(8192, 2, p), E::ExpectedOneBlock { extent: 0, blocks: 2 }),
        (one(4097, 1, p), E::PlainTooLong { extent: 0, llen: 4097, plen: 4096 }),
        (one(9 << 20, 0, h), E::BadPclusterSize { extent: 0, blocks: 0 }),
        (one(9 << 20, 257, h), E::BadPclusterSize { extent: 0, blocks: 257 }),
        (one(9 << 20, 2048, h), E::BadPclusterSize { extent: 0, blocks: 2048 }),
        (one((12 << 20) + 1, 1, h), E::BadLength { extent: 0, llen: (12 << 20) + 1 }),
        (one(0, 1, h), E::BadLength { extent: 0, llen: 0 }),
    ];
    for (found, expected) in refused {
        assert_eq!(found, Some(expected));
    }
    assert_eq!(one(9 << 20, 256, h), None);
}

#[test]
fn extents_that_dont_fit_their_neighbours() {
    use EncodeError as E;
    let (h, p) = (HeadKind::Head1, HeadKind::Plain);
    let shared = [ext(5000, 1, h), ext(1000, 1, p), ext(9000, 1, h)];
    assert_eq!(try_compact(&shared, false), Some(E::SharedLcluster { extent: 1 }));
    let short = [ext(5000, 1, h), ext(7000, 2, h)];
    assert_eq!(try_compact(&short, true), Some(E::NoRoomForCblkcnt { extent: 1, blocks: 2 }));
    let enough = [ext(5000, 1, h), ext(7288, 2, h)];
    assert_eq!(try_compact(&enough, true), None);
    assert_eq!(try_compact(&enough, false), Some(E::ExpectedOneBlock { extent: 1, blocks: 2 }));
    let grown = [ext(8200, 3, h), ext(1, 1, h)];
    assert_eq!(try_compact(&grown, true), Some(E::Expanded { extent: 0, llen: 8200, plen: 12288 }));
    let half = [EncodedExtent { partial: true, ..ext(5000, 1, h) }];
    let reason = NeedsFull::Partial;
    assert_eq!(try_compact(&half, false), Some(E::NeedsFull { extent: 0, reason }));
}

#[test]
fn parameters_that_contradict_the_extents() {
    use EncodeError as E;
    let byte = [ext(1, 1, HeadKind::Head1)];
    let full = |size, addresses| encode_full(&byte, &params(size, false), addresses).err();
    assert_eq!(full(2, None), Some(E::SizeDiffers { expected: 2, found: 1 }));
    assert_eq!(full(1, Some(&[])), Some(E::AddressCount { expected: 1, found: 0 }));
    let high = E::AddressTooHigh { extent: 0, address: 1 << 32 };
    assert_eq!(full(1, Some(&[Blkaddr(1 << 32)])), Some(high));
    let last_block = EncodeParams { start: Blkaddr(u64::from(u32::MAX)), ..params(1, false) };
    assert!(encode_full(&byte, &last_block, None).is_ok());
    let beyond = EncodeParams { start: Blkaddr(1 << 32), ..params(1, false) };
    assert!(matches!(encode_compact(&byte, &beyond, 0), Err(E::AddressTooHigh { .. })));
    let unaligned = E::UnalignedTable { e_mod_32: 4 };
    assert_eq!(encode_compact(&byte, &params(1, false), 4), Err(unaligned));
    let fragment = EncodeParams { tail: Tail::Fragment { offset: 1 << 32 }, ..params(1, false) };
    let reason = NeedsFull::FragmentOffset;
    assert_eq!(encode_compact(&byte, &fragment, 0), Err(E::NeedsFull { extent: 0, reason }));
    let inline = EncodeParams { tail: Tail::Inline { size: 4096 }, ..params(1, false) };
    assert_eq!(encode_compact(&byte, &inline, 0), Err(E::BadInlineSize { size: 4096 }));
}

/// A table that is all the same NONHEAD, of a file as long as can be.
struct Same(NonHead, u64);

impl IndexSource for Same {
    type Error = IndexError;

    fn load(&mut self, _: Lcn) -> Result<LclusterIndex, IndexError> {
        self.1 += 1;
        Ok(LclusterIndex::NonHead(self.0))
    }
}

#[test]
fn distances_without_end_are_cut_off() {
    let parsed = header([0; 8], IndexLayout::Full, Incompat::BIG_PCLUSTER).unwrap();
    let MapHeader::Indexes(parsed) = parsed else { panic!() };
    let size = 1 << 40;
    let map = IndexMap::new(parsed, B, size);
    let same = |delta0| Same(NonHead { delta0, delta1: 1, cblkcnt: None }, 0);
    let mut one = same(1);
    assert!(matches!(
        map_byte(&map, &mut one, La(size - 1)),
        Err(MapError::Damaged(MapDamage::Contradiction { .. }))
    ));
    assert!(one.1 < (size >> 12 >> 10) + 4000);
    let none = MapDamage::BogusLookback { lcn: Lcn(9), delta0: 0 }.into();
    assert_eq!(map_byte(&map, same(0), La(9 << 12)), Err(none));
    let far = MapDamage::BogusLookback { lcn: Lcn(9), delta0: 10 }.into();
    assert_eq!(map_byte(&map, same(10), La(9 << 12)), Err(far));
}

/// Walks all extents of a map and probes some bytes; what is found must tile the file from its start.
fn roam(
    map: &IndexMap,
    source: SliceSource<'_>,
    size: u64,
    probes: &[u64],
) -> Result<(), TestCaseError> {
    let mut at = 0;
    for extent in map.extents_from(source, La(0)) {
        let Ok(extent) = extent else { return Ok(()) };
        prop_assert_eq!(extent.la.0, at);
        prop_assert!(extent.llen > 0);
        at = extent.end().0;
    }
    prop_assert_eq!(at, size);
    for probe in probes {
        let la = La(probe % size.max(1));
        if let Some(Ok(extent)) = map.extents_from(source, la).next() {
            prop_assert!(extent.la <= la && la < extent.end() && extent.end().0 <= size);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn random_tables_neither_panic_nor_hang(
        head in any::<[u8; 8]>(),
        modest in any::<bool>(),
        layout in prop_oneof![Just(IndexLayout::Full), Just(IndexLayout::Compact)],
        bits in 9_u8..=16,
        bytes in vec(any::<u8>(), 0..600),
        size in prop_oneof![4 => 0_u64..400_000, 1 => any::<u64>()],
        header_at in prop_oneof![4 => Just(32_u64), 1 => any::<u64>()],
        probes in vec(any::<u64>(), 8),
    ) {
        let mut head = head;
        if modest {
            head[5..].fill(0);
            head[4] |= 6;
        }
        let block_bits = BlockBits::new(bits).unwrap();
        let context = HeaderContext { layout, block_bits, features: Incompat::all() };
        match MapHeader::parse(head, context) {
            Ok(MapHeader::Indexes(header)) => {
                let Ok(table) = IndexTable::new(&header, block_bits, size, header_at) else {
                    return Ok(());
                };
                let _ = table.inline_at();
                let map = IndexMap::new(header, block_bits, size);
                roam(&map, SliceSource { table, bytes: &bytes }, size, &probes)?;
            }
            Ok(MapHeader::Records(header)) => {
                let Some(table) = RecordTable::new(header, block_bits, size, header_at) else {
                    return Ok(());
                };
                let mut bytes = &bytes[..];
                if let Ok(extents) = record_extents(&table, bytes, size) {
                    prop_assert!(extents.iter().all(|e| e.end().0 <= size));
                }
                for probe in probes {
                    let _ = table.map(&mut bytes, La(probe), &Anchors::default());
                }
            }
            _ => {}
        }
    }

    #[test]
    fn damaged_tables_neither_panic_nor_hang(
        full in any::<bool>(),
        big in any::<bool>(),
        lens in vec(4096_u32..60_000, 1..80),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        probes in vec(any::<u64>(), 8),
    ) {
        let (kind, partial) = (HeadKind::Head1, false);
        let extents: Vec<_> =
            lens.iter().map(|&llen| EncodedExtent { llen, blocks: 1, kind, partial }).collect();
        let size = lens.iter().map(|&len| u64::from(len)).sum();
        let params = EncodeParams { big_pcluster: big, ..EncodeParams::new(B, size, Blkaddr(1), 0) };
        let (mut bytes, layout) = if full {
            (encode_full(&extents, &params, None).unwrap(), IndexLayout::Full)
        } else {
            (encode_compact(&extents, &params, 8).unwrap(), IndexLayout::Compact)
        };
        let (map, table) = open(&bytes, layout, B, (size, 0x20));
        for (at, value) in damage {
            let k = at.index(bytes.len());
            bytes[k] = value;
        }
        roam(&map, source(&table, &bytes, 0x20), size, &probes)?;
    }
}
