//! Defines the changes of golden images that break rules of maps and data.

use super::cases::{BLOCKS, Case, FRAGMENTS, FULL, META, RECORDS};

/// Maps.
pub(crate) const MAPS: &[Case] = &[
    (
        "map-damaged",
        FULL,
        |p| {
            let at = p.full_index("text", 0);
            p.put(at + 2, &[0, 0x10]);
        },
        &["map-damaged"],
    ),
    (
        "map-damaged-no-cblkcnt",
        FULL,
        |p| {
            let at = p.full_index("text", 1);
            p.put(at + 4, &[1, 0]);
        },
        &["map-damaged"],
    ),
    (
        "map-damaged-zero-cblkcnt",
        FULL,
        |p| {
            let at = p.full_index("text", 1);
            p.put(at + 4, &[0, 8]);
        },
        &["map-damaged"],
    ),
    (
        "map-damaged-big-pcluster",
        "03-lz4",
        |p| {
            let header = p.area("text");
            let advise: [u8; 1] = p.get(header + 4);
            p.put(header + 4, &[advise[0] | 2]);
        },
        &["map-damaged"],
    ),
    (
        "extents-adjoin",
        "41-unpadded-1.5",
        |p| {
            // The second pcluster of the file is read from the copy.
            let start = p.add_copy();
            let next = p.next_pcluster("text");
            let at = p.full_index("text", next);
            p.put(at + 4, &(p.get_u32(at + 4) + start).to_le_bytes());
        },
        &["extents-adjoin"],
    ),
    (
        "index-wrong",
        FULL,
        |p| {
            let at = p.full_index("text", 2);
            p.put(at + 4, &[0, 0]);
        },
        &["index-wrong"],
    ),
    (
        "index-wrong-back",
        FULL,
        |p| {
            let at = p.full_index("text", 2);
            p.put(at + 4, &[3, 0]);
        },
        &["index-wrong"],
    ),
    (
        "index-wrong-ahead",
        FULL,
        |p| {
            let at = p.full_index("text", 2);
            p.put(at + 6, &[2, 0]);
        },
        &["index-wrong"],
    ),
    (
        "index-zero",
        FULL,
        |p| {
            let at = p.full_index("text", 2);
            p.put(at + 6, &[0, 0]);
        },
        &["index-zero"],
    ),
    (
        "map-unsupported-pcluster",
        FULL,
        |p| {
            let at = p.full_index("text", 1);
            p.put(at + 4, &[0xff, 0x0f]);
        },
        &["map-unsupported"],
    ),
    (
        "map-unsupported-extent",
        RECORDS,
        |p| {
            let record = p.record("text", 1);
            p.put(record + 12, &(32_u32 << 20).to_le_bytes());
            p.field("text", 8, &(32_u32 << 20 | 1).to_le_bytes());
        },
        &["map-unsupported"],
    ),
    (
        "map-unsupported-lclusters",
        FULL,
        |p| {
            // CVE-2023-33552: lclusters of 128 MiB, and a file of nearly 4 GiB.
            let header = p.area("text");
            p.put(header + 7, &[15]);
            p.field("text", 8, &0xf000_0000_u32.to_le_bytes());
        },
        &["map-unsupported", "index-wrong", "inode-overlap"],
    ),
    (
        "inline-crosses-block",
        META,
        |p| {
            let inode = p.inode("one/file");
            let rest = 4096 - (p.area("one/file") % 4096);
            assert!(inode.size < rest && rest < 4095);
            p.field("one/file", 8, &(rest + 1).to_le_bytes());
        },
        &["inline-crosses-block"],
    ),
    (
        "reserved-set-map",
        FULL,
        |p| {
            let header = p.area("text");
            p.put(header + 7, &[0x10]);
        },
        &["reserved-set"],
    ),
];

/// Data.
pub(crate) const DATA: &[Case] = &[
    ("extent-outside", BLOCKS, |p| p.field("text", 16, &[0, 0xff]), &["extent-outside"]),
    (
        "extent-outside-device",
        "15-blobdev",
        |p| {
            let at = p.area("text");
            p.put(at + 4, &[0, 0, 0xff]);
        },
        &["extent-outside"],
    ),
    (
        "extent-outside-pcluster",
        FULL,
        |p| {
            let at = p.full_index("text", 0);
            p.put(at + 4, &[0, 0xff]);
        },
        &["extent-outside"],
    ),
    ("extent-in-metadata", BLOCKS, |p| p.field("text", 16, &[0, 0]), &["extent-in-metadata"]),
    (
        "extent-overlap",
        BLOCKS,
        |p| {
            let start = p.content("text", 4096) / 4096;
            p.field("zz-noise", 16, &u32::try_from(start).unwrap().to_le_bytes());
        },
        &["extent-overlap"],
    ),
    (
        "extent-overlap-plain",
        RECORDS,
        |p| {
            let record = p.record("text", 1);
            let start = p.get_u32(record + 4) - 100;
            p.put(record + 4, &start.to_le_bytes());
        },
        &["extent-overlap"],
    ),
    (
        "extent-overlap-pclusters",
        RECORDS,
        |p| {
            // CVE-2024-47736: a pcluster of two blocks begins with the last one of another.
            let first = p.area("text-again") + 8;
            let start = p.get_u32(first) - 4096;
            p.put(first, &start.to_le_bytes());
        },
        &["extent-overlap", "data-undecodable"],
    ),
    (
        "map-damaged-record-order",
        RECORDS,
        |p| {
            let record = p.record("text", 0);
            p.put(record + 12, &[1]);
        },
        &["map-damaged"],
    ),
    (
        "fragment-outside",
        FRAGMENTS,
        |p| {
            let header = p.area("zz-noise");
            p.put(header + 4, &[1]);
        },
        &["fragment-outside"],
    ),
    (
        "fragment-outside-tail",
        FRAGMENTS,
        |p| {
            let header = p.area("text");
            p.put(header + 3, &[0x7f]);
        },
        &["fragment-outside"],
    ),
    (
        "data-undecodable",
        FULL,
        |p| {
            let at = p.content("text", 0);
            p.put(at + 3000, &[0xff; 64]);
        },
        &["data-undecodable"],
    ),
    (
        "data-undecodable-padding",
        FULL,
        |p| {
            let at = p.content("text", 0);
            p.put(at, &[0; 4096]);
        },
        &["data-undecodable"],
    ),
];
