//! Tests that each valid list of extents comes back from its table.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Numbers from which one extent is cut.
#[derive(Clone, Debug)]
struct Cut {
    kind: u8,
    len: u32,
    blocks: u16,
    partial: bool,
    address: u32,
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is drawn on its own")]
struct Case {
    bits: u8,
    full: bool,
    big: bool,
    interlaced: bool,
    explicit: bool,
    e: u8,
    start: u32,
    tail: u8,
    tail_offset: u64,
    cuts: Vec<Cut>,
    end: u32,
    probes: Vec<u64>,
}

fn cut() -> impl Strategy<Value = Cut> {
    // Mostly a few lclusters, at times so many that deltas saturate.
    let len = prop_oneof![8 => 0_u32..40_000, 2 => 0_u32..400_000, 1 => 0_u32..3_000_000];
    (0_u8..5, len, 1_u16..300, any::<bool>(), 1_u32..).prop_map(
        |(kind, len, blocks, partial, address)| Cut { kind, len, blocks, partial, address },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let form = (
        prop_oneof![2 => Just(9_u8), 4 => Just(12), 1 => Just(13), 1 => Just(14), 1 => Just(16)],
        any::<[bool; 4]>(),
        0_u8..4,
        1_u32..1 << 30,
    );
    let content = (0_u8..4, 0_u64..1 << 63, vec(cut(), 0..60), 1_u32..20_000);
    (form, content, vec(any::<u64>(), 20)).prop_map(|(form, content, probes)| {
        let (bits, [full, big, interlaced, explicit], e, start) = form;
        let (tail, tail_offset, cuts, end) = content;
        let full = full || bits > 14;
        let e = e * 8;
        Case {
            bits,
            full,
            big,
            interlaced,
            explicit,
            e,
            start,
            tail,
            tail_offset,
            cuts,
            end,
            probes,
        }
    })
}

/// A case in the terms of the encoder, and the extents that the map should return.
struct Model {
    params: EncodeParams,
    extents: Vec<EncodedExtent>,
    addresses: Option<Vec<Blkaddr>>,
    expected: Vec<MappedExtent>,
}

impl Case {
    fn extents(&self) -> Vec<EncodedExtent> {
        let size = 1_u32 << self.bits;
        let mut start = 0_u32;
        let mut out = Vec::new();
        for cut in &self.cuts {
            let kind =
                [HeadKind::Plain, HeadKind::Head1, HeadKind::Head2][usize::from(cut.kind).min(2)];
            let within = start % size;
            let extent = if kind == HeadKind::Plain {
                EncodedExtent { llen: size, blocks: 1, kind, partial: cut.partial && self.full }
            } else {
                let llen = size + cut.len;
                let fit = if within + llen >= 2 * size {
                    (llen / size).min(1 << 20 >> self.bits)
                } else {
                    1
                };
                let fit = if self.big { u16::try_from(fit.min(2047)).unwrap() } else { 1 };
                let partial = cut.partial && self.full;
                EncodedExtent { llen, blocks: cut.blocks.min(fit), kind, partial }
            };
            start += extent.llen;
            out.push(extent);
        }
        let inline_plain = self.tail == 1 && self.end.is_multiple_of(3);
        let (kind, llen) = if inline_plain {
            (HeadKind::Plain, 1 + self.end % (size - 1))
        } else {
            (HeadKind::Head1, self.end)
        };
        out.push(EncodedExtent { llen, blocks: 1, kind, partial: false });
        out
    }

    fn model(&self) -> Model {
        let block_bits = BlockBits::new(self.bits).unwrap();
        let extents = self.extents();
        let last = extents[extents.len() - 1];
        let tail = match self.tail {
            1 if last.kind == HeadKind::Plain => {
                Tail::Inline { size: last.llen.try_into().unwrap() }
            }
            1 => Tail::Inline { size: u16::try_from(self.tail_offset % 511 + 1).unwrap() },
            2 if self.full => Tail::Fragment { offset: self.tail_offset },
            2 => Tail::Fragment { offset: self.tail_offset & 0xffff_ffff },
            _ => Tail::Blocks,
        };
        let size = extents.iter().map(|e| u64::from(e.llen)).sum();
        let interlaced = self.interlaced && !(self.tail == 1 && last.kind == HeadKind::Plain);
        let (start, big_pcluster) = (Blkaddr(self.start.into()), self.big);
        let (head1, head2) = (self.e & 3, 3);
        let params =
            EncodeParams { block_bits, size, start, big_pcluster, interlaced, head1, head2, tail };
        let addresses = (self.full && self.explicit).then(|| {
            let cuts = self.cuts.iter().map(|cut| Blkaddr(cut.address.into()));
            cuts.chain([Blkaddr(5)]).collect()
        });
        let expected = expected(&params, &extents, addresses.as_deref());
        Model { params, extents, addresses, expected }
    }
}

fn expected(
    params: &EncodeParams,
    extents: &[EncodedExtent],
    addresses: Option<&[Blkaddr]>,
) -> Vec<MappedExtent> {
    let mut la = 0;
    let mut next = params.start.0;
    let mut out = Vec::new();
    for (k, extent) in extents.iter().enumerate() {
        let plen = u32::from(extent.blocks) << params.block_bits.bits();
        let at = addresses.map_or(next, |all| all[k].0);
        let location = match params.tail {
            Tail::Inline { size } if k + 1 == extents.len() => {
                Location::Inline { plen: size.into() }
            }
            Tail::Fragment { offset } if k + 1 == extents.len() => Location::Fragment { offset },
            _ => blocks(at << params.block_bits.bits(), plen),
        };
        let in_blocks = matches!(location, Location::Blocks { .. });
        let kind = match extent.kind {
            HeadKind::Plain => ExtentKind::Plain { interlaced: params.interlaced && in_blocks },
            HeadKind::Head1 => ExtentKind::Compressed { algorithm: params.head1 },
            HeadKind::Head2 => ExtentKind::Compressed { algorithm: params.head2 },
        };
        let llen = u64::from(extent.llen);
        out.push(MappedExtent { la: La(la), llen, location, kind, partial: extent.partial });
        la += llen;
        next += u64::from(extent.blocks);
    }
    out
}

/// Counts loads, to see that none is wasted.
struct Counting<'a>(SliceSource<'a>, u64);

impl IndexSource for Counting<'_> {
    type Error = IndexError;

    fn load(&mut self, lcn: Lcn) -> Result<LclusterIndex, IndexError> {
        self.1 += 1;
        self.0.load(lcn)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn extents_come_back_from_their_table(case in case()) {
        let Model { params, extents, addresses, expected } = case.model();
        let header_at = u64::from(case.e) + 24;
        let (bytes, layout) = if case.full {
            (encode_full(&extents, &params, addresses.as_deref()).unwrap(), IndexLayout::Full)
        } else {
            (encode_compact(&extents, &params, case.e).unwrap(), IndexLayout::Compact)
        };
        let (map, table) = open(&bytes, layout, params.block_bits, (params.size, header_at));
        prop_assert_eq!(table.inline_at(), Ok(header_at + bytes.len() as u64));

        let mut source = Counting(source(&table, &bytes, header_at), 0);
        let found: Result<Vec<_>, _> = map.extents_from(&mut source, La(0)).collect();
        prop_assert_eq!(found.as_ref(), Ok(&expected));
        let lclusters = params.block_bits.blocks_for(params.size);
        prop_assert!(source.1 <= 3 * expected.len() as u64 + lclusters / 1024 + 2);

        for probe in case.probes {
            let la = La(probe % params.size);
            let k = expected.partition_point(|e| e.end() <= la);
            prop_assert_eq!(map_byte(&map, &mut source, la), Ok(expected[k]));
            let following: Result<Vec<_>, _> = map.extents_from(&mut source, la).collect();
            prop_assert_eq!(following.as_deref(), Ok(&expected[k..]));
        }
        prop_assert!(map.extents_from(&mut source, La(params.size)).next().is_none());
    }

    #[test]
    fn extents_come_back_from_their_records(mut case in case(), far in any::<bool>()) {
        (case.tail, case.explicit) = (case.tail & 2, false);
        let Model { mut params, extents, .. } = case.model();
        params.start.0 += if far { 1 << 32 } else { 0 };
        params.interlaced = false;
        let expected = expected(&params, &extents, None);
        let header_at = u64::from(case.e) + 64;
        let bytes = encode_records(&extents, &params, case.e, None).unwrap();
        let block_bits = params.block_bits;
        let context = HeaderContext { layout: IndexLayout::Full, block_bits, features: Incompat::BITS_48 };
        let header = MapHeader::parse(*bytes.first_chunk().unwrap(), context);
        let Ok(MapHeader::Records(header)) = header else { panic!("{header:?}") };
        let table = RecordTable::new(header, block_bits, params.size, header_at).unwrap();
        prop_assert_eq!(table.start() + table.size(), header_at + bytes.len() as u64);
        let records = &bytes[usize::try_from(table.start() - header_at).unwrap()..];
        let found = record_extents(&table, records, params.size);
        // The kind of a fragment has no meaning.
        let bare = |e: &MappedExtent| match e.location {
            Location::Fragment { .. } => MappedExtent { kind: ExtentKind::Plain { interlaced: false }, partial: false, ..*e },
            _ => *e,
        };
        let found = found.map(|all| all.iter().map(bare).collect::<Vec<_>>());
        prop_assert_eq!(found, Ok(expected.iter().map(bare).collect()));
    }

    #[test]
    fn a_map_that_is_moved_equals_one_of_other_addresses(case in case(), by in 1_u64..1 << 30) {
        let Model { params, extents, addresses, .. } = case.model();
        let moved = EncodeParams { start: Blkaddr(params.start.0 + by), ..params };
        let moved_addresses: Option<Vec<_>> = addresses.as_ref().map(|all| {
            all.iter().map(|address| Blkaddr((address.0 + by) & 0xffff_ffff)).collect()
        });
        let encode = |params: &EncodeParams, addresses: Option<&[Blkaddr]>| if case.full {
            encode_full(&extents, params, addresses).unwrap()
        } else {
            encode_compact(&extents, params, case.e).unwrap()
        };
        let mut map = encode(&params, addresses.as_deref());
        let expected = encode(&moved, moved_addresses.as_deref());
        // The inline tail is part of a file's payload.
        map.extend_from_slice(&[7; 100]);
        let layout = if case.full { IndexLayout::Full } else { IndexLayout::Compact };
        let features = Incompat::BIG_PCLUSTER;
        let context = HeaderContext { layout, block_bits: params.block_bits, features };
        // A compact table begins 8 bytes after its header.
        let header_mod_32 = (case.e + 24) % 32;
        prop_assert!(move_pclusters(&mut map, context, (params.size, header_mod_32), by));
        prop_assert_eq!(&map, &[&expected[..], &[7; 100]].concat());
        prop_assert!(!move_pclusters(&mut map[..12], context, (params.size, header_mod_32), by));
    }

    #[test]
    fn records_that_are_moved_equal_those_of_other_addresses(mut case in case(), by in 1_u64..1 << 40) {
        case.tail &= 2;
        let Model { params, extents, addresses, .. } = case.model();
        let moved = EncodeParams { start: Blkaddr(params.start.0 + by), ..params };
        let moved_addresses: Option<Vec<_>> =
            addresses.as_ref().map(|all| all.iter().map(|address| Blkaddr(address.0 + by)).collect());
        let mut map = encode_records(&extents, &params, case.e, addresses.as_deref()).unwrap();
        let expected = encode_records(&extents, &moved, case.e, moved_addresses.as_deref()).unwrap();
        let block_bits = params.block_bits;
        let context = HeaderContext { layout: IndexLayout::Full, block_bits, features: Incompat::BITS_48 };
        prop_assert!(move_pclusters(&mut map, context, (params.size, case.e), by));
        prop_assert_eq!(map, expected);
    }

    #[test]
    fn records_come_back(
        size in prop_oneof![Just(RecordSize::Sixteen), Just(RecordSize::ThirtyTwo)],
        lens in vec(1_u32..200_000, 1..40),
        plen in 1_u32..=1 << 20,
        fragment in any::<bool>(),
    ) {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        let mut la = 0_u64;
        for (k, len) in lens.iter().enumerate() {
            let pa = 1 << 40 | k as u64;
            let record = ExtentRecord::new(La(la), Pa(pa), plen, Some(2));
            record.encode(size, &mut bytes);
            let location = if fragment && k + 1 == lens.len() {
                let offset = (pa & 0xffff_ffff) << 32 | u64::from(record.plen_word);
                Location::Fragment { offset }
            } else {
                blocks(pa, plen)
            };
            let kind = ExtentKind::Compressed { algorithm: 2 };
            let llen = u64::from(*len);
            expected.push(MappedExtent { la: La(la), llen, location, kind, partial: false });
            la += llen;
        }
        let mut advise = Advise::EXTENTS | Advise::from_bits_retain(size.code() << 1);
        advise.set(Advise::FRAGMENT, fragment);
        let shape = RecordsShape::Variable { count: lens.len() as u64 };
        let header = RecordsHeader { advise, record_size: size, shape };
        check_records(header, &bytes, &expected)?;
    }

    #[test]
    fn records_of_fixed_extents_come_back(
        four in any::<bool>(),
        plens in vec(0_u32..=1 << 20, 1..1500),
        last in 1_u64..=16384,
    ) {
        let size = if four { RecordSize::Four } else { RecordSize::Eight };
        let mut bytes = if four { (1_u64 << 33).to_le_bytes().to_vec() } else { Vec::new() };
        let mut pa = 1_u64 << if four { 33 } else { 20 };
        let mut expected = Vec::new();
        for (k, &plen) in plens.iter().enumerate() {
            let la = La(k as u64 * 16384);
            let mut record = ExtentRecord::new(la, Pa(pa), plen, Some(0));
            record.plen_word |= 1 << 27;
            record.encode(size, &mut bytes);
            let location = if plen == 0 { Location::Hole } else { blocks(pa, plen) };
            let kind = ExtentKind::Compressed { algorithm: 0 };
            let llen = if k + 1 == plens.len() { last } else { 16384 };
            expected.push(MappedExtent { la, llen, location, kind, partial: true });
            pa += u64::from(plen);
        }
        let advise = Advise::EXTENTS | Advise::from_bits_retain(size.code() << 1);
        let shape = RecordsShape::Fixed { unit_bits: 14 };
        check_records(RecordsHeader { advise, record_size: size, shape }, &bytes, &expected)?;
    }
}

fn check_records(
    header: RecordsHeader,
    mut bytes: &[u8],
    expected: &[MappedExtent],
) -> Result<(), TestCaseError> {
    let block_bits = BlockBits::DEFAULT;
    let layout = IndexLayout::Full;
    let context = HeaderContext { layout, block_bits, features: Incompat::BITS_48 };
    let again = MapHeader::parse(MapHeader::Records(header).encode(block_bits), context);
    prop_assert_eq!(again, Ok(MapHeader::Records(header)));
    let file_size = expected[expected.len() - 1].end().0;
    let table = RecordTable::new(header, block_bits, file_size, 8).unwrap();
    prop_assert_eq!(table.size(), bytes.len() as u64);
    let found = record_extents(&table, bytes, file_size);
    prop_assert_eq!(found.as_deref(), Ok(expected));
    let anchors = table.anchors(&mut bytes).unwrap();
    for e in expected {
        for la in [e.la.0, e.la.0 + e.llen / 2, e.end().0 - 1] {
            prop_assert_eq!(table.map(&mut bytes, La(la), &Anchors::default()), Ok(*e));
            prop_assert_eq!(table.map(&mut bytes, La(la), &anchors), Ok(*e));
        }
    }
    Ok(())
}
