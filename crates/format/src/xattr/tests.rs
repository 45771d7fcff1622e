//! Tests extended attributes, their names and filters against what other tools write.

use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;
use crate::testing::image;

fn name(full: &str) -> XattrName<'_> {
    XattrName::split(full.as_bytes()).unwrap()
}

fn body(filter: u32, shared: &[u32], inline: &[Entry<'_>]) -> Result<Vec<u8>, XattrError> {
    let mut bytes = vec![];
    encode_body(filter, shared, inline, &mut bytes)?;
    Ok(bytes)
}

#[test]
fn reads_and_writes_the_example() {
    let image = image();
    let cases = [(0x520, 4, "mark", "1", "trusted.mark"), (0x5a0, 1, "note", "hi", "user.note")];
    for (position, index, rest, value, full) in cases {
        let bytes = &image[position..position + 24];
        let entry = Entry { index, rest: rest.as_bytes(), value: value.as_bytes() };
        let parsed = XattrBody::parse(bytes).unwrap();
        assert_eq!(parsed.shared_ids().len(), 0);
        assert_eq!(parsed.entries().collect::<Vec<_>>(), [Ok(entry)]);
        assert_eq!(parsed.filter, !name(full).filter_bit());
        assert_eq!(body(parsed.filter, &[], &[entry]).unwrap(), bytes);
        assert_eq!(PrefixTable::default().resolve(&entry), Some(name(full)));
        assert_eq!(name(full).to_full().unwrap(), full.as_bytes());
    }
}

#[test]
fn filters_agree_with_other_tools() {
    let bit = |full| name(full).filter_bit().trailing_zeros();
    assert_eq!(bit("system.posix_acl_access"), 30);
    assert_eq!(bit("system.posix_acl_default"), 21);
    assert_eq!(bit("user.note"), 5);
    assert_eq!(bit("trusted.mark"), 0);
}

#[test]
fn names_split_after_their_prefix() {
    let split = |full: &'static str| {
        XattrName::split(full.as_bytes()).map(|name| (name.base.to_raw(), name.rest))
    };
    assert_eq!(split("user.a.b"), Some((1, &b"a.b"[..])));
    assert_eq!(split("trusted.overlay.opaque"), Some((4, &b"overlay.opaque"[..])));
    assert_eq!(split("security.selinux"), Some((6, &b"selinux"[..])));
    assert_eq!(split("system.posix_acl_access"), Some((2, &b""[..])));
    assert_eq!(split("system.posix_acl_accessory"), None);
    assert_eq!(split("system.nfs4_acl"), None);
    assert_eq!(split("user"), None);
    assert_eq!(split(""), None);
}

#[test]
fn short_prefixes_have_the_numbers_of_the_format() {
    for raw in 0..=255 {
        let prefix = ShortPrefix::from_raw(raw);
        assert_eq!(prefix.is_some(), matches!(raw, 0..=4 | 6));
        assert_eq!(prefix.map_or(raw, ShortPrefix::to_raw), raw);
    }
}

#[test]
fn icounts_count_units_after_the_header() {
    assert_eq!([0, 1, 2, 4, 65535].map(body_size_of), [0, 12, 16, 24, 12 + 4 * 65534]);
    assert_eq!([0, 12, 16, 18, 24].map(icount_of), [Some(0), None, Some(2), None, Some(4)]);
    assert_eq!(icount_of(12 + 4 * 65534), Some(65535));
    assert_eq!(icount_of(12 + 4 * 65535), None);
    assert_eq!(body_size(0, 0), Ok(0));
    assert_eq!(body_size(2, 8), Ok(28));
    assert_eq!(body_size(255, 0), Ok(12 + 1020));
    assert!(body_size(256, 0).is_err() && body_size(usize::MAX, usize::MAX).is_err());
    assert!(body_size(0, 4 * 65534).is_ok() && body_size(0, 4 * 65535).is_err());
}

#[test]
fn bodies_that_make_no_sense_are_told() {
    let parse = |bytes: &[u8]| XattrBody::parse(bytes).map(|_| ()).unwrap_err();
    assert_eq!(parse(&[0; 12]), XattrError::HeaderOnly);
    assert!(parse(&[0; 12]).is_unsupported());
    assert_eq!(parse(&[0; 8]), XattrError::Truncated { found: 8 });
    let mut two_ids = [0; 16];
    two_ids[4] = 2;
    assert_eq!(parse(&two_ids), XattrError::SharedCount { count: 2, size: 16 });
}

#[test]
fn reserved_room_reads_as_no_entry() {
    let parsed = XattrBody::parse(&[0; 40]).unwrap();
    assert_eq!(parsed.entries().count(), 0);
}

#[test]
fn an_entry_cut_off_ends_the_list() {
    let mut bytes = body(0, &[], &[Entry { index: 1, rest: b"a", value: b"b" }; 2]).unwrap();
    assert_eq!(bytes.len(), 12 + 16);
    bytes[12 + 2] = 100;
    let entries: Vec<_> = XattrBody::parse(&bytes).unwrap().entries().collect();
    assert_eq!(entries, [Err(XattrError::EntryCutOff { needed: 105, found: 16 })]);
}

#[test]
fn names_and_values_have_their_limits() {
    let (name, value) = ([b'n'; 256], vec![b'v'; 65536]);
    let size = |name_len: usize, value_len: usize| {
        let entry = Entry { index: 1, rest: &name[..name_len], value: &value[..value_len] };
        body(0, &[], &[entry]).map(|bytes| bytes.len())
    };
    assert_eq!(size(255, 65535), Ok(12 + 65796));
    assert_eq!(size(256, 0), Err(XattrError::NameTooLong { length: 256 }));
    assert_eq!(size(0, 65536), Err(XattrError::ValueTooLong { length: 65536 }));
}

#[test]
fn shared_ids_count_words_from_their_block() {
    let block = BlockBits::DEFAULT;
    assert_eq!(shared_position(Blkaddr(0), 0x120, block), Some(1152));
    assert_eq!(shared_position(Blkaddr(2), 1, block), Some(8196));
    assert_eq!(shared_position(Blkaddr(u64::MAX), 1, block), None);
}

#[test]
fn long_prefixes_are_another_spelling() {
    let overlay = LongPrefix { base: 4, infix: b"overlay.".to_vec() };
    let user = LongPrefix { base: 1, infix: vec![] };
    let lustre = LongPrefix { base: 5, infix: vec![] };
    let table = PrefixTable::new(vec![overlay, user, lustre]).unwrap();
    let entry = |index, rest| Entry { index, rest, value: b"y" };
    let long = entry(0x80, &b"opaque"[..]);
    let resolved = table.resolve(&long).unwrap();
    let short = name("trusted.overlay.opaque");
    assert_eq!(resolved, short);
    assert_eq!(resolved.filter_bit(), short.filter_bit());
    assert_eq!(resolved.to_full().unwrap(), b"trusted.overlay.opaque");
    assert_eq!(table.resolve(&entry(0x81, b"note")), Some(name("user.note")));
    assert_eq!(table.resolve(&entry(0x82, b"x")), None);
    assert_eq!(table.resolve(&entry(0x83, b"x")), None);
    assert_eq!(table.resolve(&entry(5, b"x")), None);
    let hidden = entry(0, &b"x"[..]);
    assert_eq!(table.resolve(&hidden).unwrap().to_full(), None);
}

#[test]
fn prefix_records_are_aligned_and_bounded() {
    let mut bytes = b"\x09\x00\x04overlay.\0\x01\x00\x01".to_vec();
    let table = PrefixTable::parse(&bytes, 2).unwrap();
    assert_eq!(table.prefixes()[1], LongPrefix { base: 1, infix: vec![] });
    assert_eq!(PrefixTable::parse(&bytes, 3), Err(XattrError::PrefixCutOff { index: 2 }));
    bytes.pop();
    assert_eq!(PrefixTable::parse(&bytes, 2), Err(XattrError::PrefixCutOff { index: 1 }));
    let zero = PrefixTable::parse(&[0; 8], 1);
    assert_eq!(zero, Err(XattrError::PrefixLength { index: 0, length: 0 }));
    let long = PrefixTable::parse(&[1; 300], 1);
    assert_eq!(long, Err(XattrError::PrefixLength { index: 0, length: 257 }));
    let infix = vec![b'i'; 256];
    let long = PrefixTable::new(vec![LongPrefix { base: 1, infix }]);
    assert_eq!(long, Err(XattrError::PrefixLength { index: 0, length: 257 }));
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..=most)
}

proptest! {
    #[test]
    fn bodies_come_back(
        filter: u32,
        shared in proptest::collection::vec(any::<u32>(), 0..=255),
        parts in proptest::collection::vec((1_u8.., bytes(255), bytes(600)), 0..8),
    ) {
        let inline: Vec<_> =
            parts.iter().map(|(index, rest, value)| Entry { index: *index, rest, value }).collect();
        let encoded = body(filter, &shared, &inline).unwrap();
        if shared.is_empty() && inline.is_empty() {
            prop_assert!(encoded.is_empty());
            return Ok(());
        }
        prop_assert_eq!(icount_of(encoded.len()).map(body_size_of), Some(encoded.len()));
        let parsed = XattrBody::parse(&encoded).unwrap();
        prop_assert_eq!(parsed.filter, filter);
        prop_assert!(parsed.shared_ids().eq(shared));
        prop_assert!(parsed.entries().eq(inline.iter().copied().map(Ok)));
    }

    #[test]
    fn entries_know_their_size(index: u8, rest in bytes(255), value in bytes(700)) {
        let entry = Entry { index, rest: &rest, value: &value };
        let mut encoded = vec![];
        entry.encode_into(&mut encoded).unwrap();
        prop_assert_eq!(encoded.len(), entry.size());
        let header = encoded[..4].try_into().unwrap();
        prop_assert_eq!(entry_size(header), entry.size());
        encoded.push(7);
        prop_assert_eq!(Entry::parse(&encoded), Ok((entry, &[7][..])));
    }

    #[test]
    fn prefix_tables_come_back(parts in proptest::collection::vec((0_u8..=6, bytes(255)), 0..=128)) {
        let prefixes = parts.into_iter().map(|(base, infix)| LongPrefix { base, infix });
        let table = PrefixTable::new(prefixes.collect()).unwrap();
        let count = u8::try_from(table.prefixes().len()).unwrap();
        let mut encoded = vec![];
        table.encode_into(&mut encoded);
        prop_assert!(encoded.len() <= PrefixTable::max_size(count));
        prop_assert_eq!(PrefixTable::parse(&encoded, count), Ok(table));
    }

    #[test]
    fn full_names_come_back(prefix in 0_usize..5, rest in bytes(255)) {
        let base = ShortPrefix::VISIBLE[prefix];
        let rest = if base.is_whole_name() { vec![] } else { rest };
        let full = [base.text(), &rest].concat();
        let split = XattrName::split(&full).unwrap();
        prop_assert_eq!((split.base, split.rest), (base, &rest[..]));
        prop_assert_eq!(split.to_full(), Some(full.clone()));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in bytes(600), count: u8) {
        if let Ok(body) = XattrBody::parse(&bytes) {
            prop_assert!(body.shared_ids().len() * 4 + 12 <= bytes.len());
            prop_assert!(body.entries().count() <= bytes.len() / 4);
        }
        if let Ok(table) = PrefixTable::parse(&bytes, count) {
            for entry in Entries::new(&bytes).flatten() {
                let _ = table.resolve(&entry).map(|name| name.filter_bit());
            }
        }
    }
}
