//! Defines the changes of golden images that break rules, except those of maps and data.

use lith_format::{
    addr::Blkaddr,
    bases::{Base, encode_note},
    joined::encode_joined_header,
};

use super::{
    data_cases::{DATA, MAPS},
    patch::Patch,
};

/// Name, golden image, the change, and the ids of the rules that are broken.
pub(crate) type Case = (&'static str, &'static str, fn(&mut Patch), &'static [&'static str]);

/// The image of most cases: uncompressed and compressed files with full indexes.
pub(crate) const FULL: &str = "06-legacy-compress";
/// Specials, hard links, xattrs inline and shared, directories of several blocks.
pub(crate) const META: &str = "01-plain";
/// A packed inode.
pub(crate) const FRAGMENTS: &str = "13-interlaced-tail";
/// Files in blocks without inline tails.
pub(crate) const BLOCKS: &str = "02-noinline-data";
/// Extent records of 16 bytes.
pub(crate) const RECORDS: &str = "18-48bit-lz4hc";
/// Blocks of 512 bytes and pclusters of several.
pub(crate) const SMALL_BLOCKS: &str = "31-block-512-lz4hc";

/// A base of so many bytes.
fn base(bytes: u64) -> Base {
    let name = b"base".to_vec();
    Base { uuid: [0; 16], digest: [0; 32], head: [0; 32], bytes, name, root: None }
}

const SUPERBLOCK: &[Case] = &[
    ("sb-invalid", FULL, |p| p.sb(0x5a, &[1]), &["sb-invalid"]),
    ("sb-unsupported", FULL, |p| p.incompat(0x200, 0), &["sb-unsupported"]),
    ("sb-unsupported-algorithm", FULL, |p| p.sb(0x54, &[0x11]), &["sb-unsupported"]),
    ("sb-configs", FULL, |p| p.sb(128, &[3]), &["sb-configs"]),
    (
        "sb-prefixes",
        "27-xattr-prefix",
        |p| {
            let at = p.superblock().xattr_prefix_position();
            p.put(at, &[0, 0]);
        },
        &["sb-prefixes"],
    ),
    (
        "sb-root",
        FULL,
        |p| {
            let text = p.inode("text").nid.0;
            p.sb(0x0e, &u16::try_from(text).unwrap().to_le_bytes());
        },
        &["sb-root"],
    ),
    (
        "sb-special-inode",
        FRAGMENTS,
        |p| {
            let link = p.inode("link").nid.0;
            p.sb(0x60, &link.to_le_bytes());
        },
        &["sb-special-inode"],
    ),
    ("inode-unreadable-packed", FRAGMENTS, |p| p.sb(0x60, &[0, 0, 0, 1]), &["inode-unreadable"]),
    ("sb-invalid-packed-nid", FRAGMENTS, |p| p.sb(0x67, &[0x80]), &["sb-invalid"]),
    ("sb-blocks", FULL, |p| p.sb(0x24, &[4]), &["sb-blocks"]),
    ("sb-inos", FULL, |p| p.sb(0x10, &[8]), &["sb-inos"]),
    ("sb-label", FULL, |p| p.sb(0x40, &[b'x'; 16]), &["sb-label"]),
    ("reserved-set-superblock", FULL, |p| p.sb(0x78, &[1]), &["reserved-set"]),
    (
        "device-table",
        "38-rebuild",
        |p| {
            let table = p.superblock().device_table_position();
            let first = p.get_u32(table + 68);
            p.put(table + 128 + 68, &first.to_le_bytes());
        },
        &["device-table"],
    ),
    (
        "bases-misplaced",
        META,
        |p| {
            let header = encode_joined_header(Blkaddr(1 << 30), 1, 0).unwrap();
            p.put(0, &[header, encode_note(&[base(4096)])].concat());
        },
        &["bases-misplaced"],
    ),
    (
        "bases-misplaced-head",
        META,
        |p| {
            let header = encode_joined_header(Blkaddr(0), 1, 0).unwrap();
            p.put(0, &[header, encode_note(&[base(4096)])].concat());
        },
        &["bases-misplaced"],
    ),
    (
        "bases-misplaced-metadata",
        META,
        // Some inodes are after the first block.
        |p| {
            let header = encode_joined_header(Blkaddr(1), 1, 0).unwrap();
            p.put(0, &[header, encode_note(&[base(4096 * 13)])].concat());
        },
        &["bases-misplaced"],
    ),
    (
        "bases-misplaced-unnamed",
        META,
        |p| p.put(0, &encode_joined_header(Blkaddr(1), 1, 0).unwrap()),
        &["bases-misplaced"],
    ),
    ("chunks-undeclared", "14-chunks", |p| p.incompat(0, 4), &["chunks-undeclared"]),
    ("feature-undeclared-0padding", FULL, |p| p.incompat(0, 1), &["feature-undeclared"]),
    (
        "feature-undeclared-ztailpacking",
        "07-ztailpacking",
        |p| p.incompat(0, 0x10),
        &["feature-undeclared"],
    ),
    (
        "feature-undeclared-48bit",
        "20-dot-omitted",
        |p| p.incompat(0, 0x80),
        &["feature-undeclared"],
    ),
    ("feature-unused", META, |p| p.incompat(0x14, 0), &["feature-unused"]),
    ("algorithm-unused", "37-two-algorithms", |_| (), &["algorithm-unused"]),
    (
        "algorithm-undeclared",
        FULL,
        |p| {
            let header = p.area("text");
            p.put(header + 6, &[1]);
        },
        &["algorithm-undeclared"],
    ),
    ("pcluster-undeclared", SMALL_BLOCKS, |p| p.sb(128 + 4, &[7]), &["pcluster-undeclared"]),
];

const DIRECTORIES: &[Case] = &[
    (
        "dir-block",
        FULL,
        |p| {
            let (first, _) = p.dirent("", b".");
            p.put(first + 8, &[13]);
        },
        &["dir-block"],
    ),
    (
        "dir-block-no-dirents",
        FULL,
        |p| {
            let (first, _) = p.dirent("one", b".");
            p.put(first + 8, &[0]);
        },
        &["dir-block"],
    ),
    (
        "dir-block-nameoff-beyond",
        FULL,
        |p| {
            let (dirent, _) = p.dirent("", b"one");
            p.put(dirent + 8, &[0xff, 0xff]);
        },
        &["dir-block"],
    ),
    (
        "dir-block-slash",
        FULL,
        |p| {
            let (_, name) = p.dirent("", b"zz-noise");
            p.put(name + 2, b"/");
        },
        &["dir-block"],
    ),
    (
        "dir-block-empty-name",
        FULL,
        |p| {
            let (_, name) = p.dirent("", b"zz-noise");
            p.put(name, &[0]);
        },
        &["dir-block"],
    ),
    ("dir-size", FULL, |p| p.field("one", 8, &[0]), &["dir-size"]),
    (
        "dir-size-huge",
        BLOCKS,
        |p| {
            p.field("one", 8, &[0, 0, 0, 0, 8, 0, 0, 0]);
        },
        &["dir-size", "inline-crosses-block"],
    ),
    (
        "dir-unsorted",
        FULL,
        |p| {
            let (_, name) = p.dirent("", b"link");
            p.put(name, b"zink");
        },
        &["dir-unsorted"],
    ),
    (
        "dir-duplicate",
        META,
        |p| {
            let (_, name) = p.dirent("many", b"own-1");
            p.put(name, b"own-0");
        },
        &["dir-duplicate"],
    ),
    (
        "dir-dot",
        FULL,
        |p| {
            let root = p.superblock().root_nid.0;
            p.lead("one", ".", root);
        },
        &["dir-dot"],
    ),
    (
        "dir-dot-missing",
        FULL,
        |p| {
            let (_, name) = p.dirent("one", b".");
            p.put(name, b"-");
            let one = p.inode("one").nid.0;
            p.lead("one", ".", one);
        },
        &["dir-dot", "dir-loop", "nlink-wrong"],
    ),
    (
        "dir-dot-omitted",
        "20-dot-omitted",
        |p| {
            let format: [u8; 1] = p.get(p.inode("one").position);
            p.field("one", 0, &[format[0] & !0x10]);
        },
        &["dir-dot"],
    ),
    (
        "dir-dot-dot",
        FULL,
        |p| {
            let one = p.inode("one").nid.0;
            p.lead("one", "..", one);
        },
        &["dir-dot-dot"],
    ),
    (
        "dir-type",
        FULL,
        |p| {
            let (dirent, _) = p.dirent("", b"text");
            p.put(dirent + 10, &[3]);
        },
        &["dir-type"],
    ),
    (
        "dir-type-eight",
        FULL,
        |p| {
            let (dirent, _) = p.dirent("", b"text");
            p.put(dirent + 10, &[8]);
        },
        &["dir-type"],
    ),
    (
        "dir-type-unknown",
        FULL,
        |p| {
            let (dirent, _) = p.dirent("", b"text");
            p.put(dirent + 10, &[0]);
        },
        &["dir-type-unknown"],
    ),
    (
        "dir-loop",
        FULL,
        |p| {
            let root = p.superblock().root_nid.0;
            p.lead("", "one", root);
            p.sb(0x10, &[5]);
        },
        &["dir-loop"],
    ),
    (
        "dir-padding",
        "30-block-512",
        |p| {
            let at = p.directory_padding("many");
            p.put(at, b"x");
        },
        &["dir-padding"],
    ),
    (
        "reserved-set-dirent",
        FULL,
        |p| {
            let (dirent, _) = p.dirent("", b"text");
            p.put(dirent + 11, &[1]);
        },
        &["reserved-set"],
    ),
];

const INODES: &[Case] = &[
    ("inode-unreadable", FULL, |p| p.field("text", 4, &[0, 0]), &["inode-unreadable"]),
    ("inode-unreadable-beyond", FULL, |p| p.lead("", "text", 1 << 40), &["inode-unreadable"]),
    ("inode-unreadable-metabox", FULL, |p| p.lead("", "text", 1 << 63), &["inode-unreadable"]),
    (
        "inode-unreadable-negative",
        META,
        |p| {
            assert_eq!(p.inode("text").size_on_disk(), 64);
            p.field("text", 15, &[0x80]);
        },
        &["inode-unreadable"],
    ),
    ("inode-unsupported", FULL, |p| p.field("text", 1, &[1]), &["inode-unsupported"]),
    ("inode-unsupported-layout", FULL, |p| p.field("zz-noise", 0, &[0x0f]), &["inode-unsupported"]),
    (
        "inode-overlap",
        META,
        |p| {
            let size = p.inode("one/file").size + 100;
            p.field("one/file", 8, &size.to_le_bytes());
        },
        &["inode-overlap"],
    ),
    ("inode-special", META, |p| p.field("dev/fifo", 8, &[5]), &["inode-special"]),
    (
        "inode-time",
        META,
        |p| {
            assert_eq!(p.inode("text").size_on_disk(), 64);
            p.field("text", 40, &1_000_000_000_u32.to_le_bytes());
        },
        &["inode-time"],
    ),
    (
        "inode-blocks",
        FULL,
        |p| {
            let position = p.inode("text").position;
            let blocks = p.get_u32(position + 16) + 1;
            p.put(position + 16, &blocks.to_le_bytes());
        },
        &["inode-blocks"],
    ),
    ("nlink-wrong", FULL, |p| p.nlink("text", 2), &["nlink-wrong"]),
    ("nlink-wrong-directory", FULL, |p| p.nlink("one", 3), &["nlink-wrong"]),
    ("nlink-wrong-hard-link", META, |p| p.nlink("link-hard", 1), &["nlink-wrong"]),
    ("reserved-set-inode", META, |p| p.field("text", 63, &[1]), &["reserved-set"]),
    ("reserved-set-fifo", META, |p| p.field("dev/fifo", 16, &[1]), &["reserved-set"]),
    ("reserved-set-chunks", "14-chunks", |p| p.field("text", 18, &[1]), &["reserved-set"]),
    ("symlink-target", FULL, |p| p.field("link", 8, &[0]), &["symlink-target"]),
    (
        "symlink-target-nul",
        FULL,
        |p| {
            let at = p.content("link", 3);
            p.put(at, &[0]);
        },
        &["symlink-target"],
    ),
    (
        "symlink-target-huge",
        FULL,
        |p| {
            p.field("link", 8, &0xffff_f008_u32.to_le_bytes());
        },
        &["symlink-target"],
    ),
];

const XATTRS: &[Case] = &[
    (
        "xattr-damaged",
        FULL,
        |p| {
            let at = p.xattrs("text");
            p.put(at + 12 + 2, &[0xff, 0xff]);
        },
        &["xattr-damaged"],
    ),
    (
        "xattr-damaged-shared-count",
        FULL,
        |p| {
            let at = p.xattrs("text");
            p.put(at + 4, &[0xff]);
        },
        &["xattr-damaged"],
    ),
    (
        "xattr-damaged-beyond",
        META,
        |p| {
            p.field("xattr/acl", 2, &[0xff, 0xff]);
        },
        &["xattr-damaged"],
    ),
    (
        "inode-unsupported-xattrs",
        META,
        |p| p.field("xattr/acl", 2, &[1, 0]),
        &["inode-unsupported"],
    ),
    (
        "xattr-shared",
        META,
        |p| {
            let at = p.xattrs("xattr/shared-0");
            p.put(at + 12, &[0xff, 0xff, 0xff, 0x3f]);
        },
        &["xattr-shared"],
    ),
    (
        "xattr-hidden",
        "22-metabox-lz4",
        |p| {
            // To block 1, as the inode's own are in page 1 of the metabox.
            for at in p.shared_xattrs("xattr/shared-0") {
                let entry: [u8; 64] = p.get(at);
                p.put(at + 4096, &entry);
            }
            p.sb(0x2c, &[1]);
        },
        &["xattr-hidden"],
    ),
    (
        "xattr-duplicate",
        META,
        |p| {
            // The one inline xattr becomes a second id and padding.
            let (at, size) = (p.xattrs("xattr/shared-0"), p.inode("xattr/shared-0").xattr_size());
            let first: [u8; 4] = p.get(at + 12);
            p.put(at + 4, &[2]);
            p.put(at + 16, &vec![0; size - 16]);
            p.put(at + 16, &first);
        },
        &["xattr-duplicate"],
    ),
    (
        "xattr-filter",
        FULL,
        |p| {
            let at = p.xattrs("text");
            p.put(at, &[0xff; 4]);
        },
        &["xattr-filter"],
    ),
    (
        "xattr-prefix",
        FULL,
        |p| {
            let at = p.xattrs("text");
            p.put(at + 12 + 1, &[5]);
        },
        &["xattr-prefix"],
    ),
    (
        "xattr-acl",
        META,
        |p| {
            let at = p.xattrs("xattr/acl");
            assert_eq!(p.get::<2>(at + 12), [0, 2], "the first entry is the ACL");
            p.put(at + 16, &[3]);
        },
        &["xattr-acl"],
    ),
    (
        "reserved-set-xattrs",
        FULL,
        |p| {
            let at = p.xattrs("text");
            p.put(at + 11, &[1]);
        },
        &["reserved-set"],
    ),
];

impl Patch {
    /// Where an extent record of 16 bytes is.
    pub(crate) fn record(&self, path: &str, number: u64) -> u64 {
        (self.area(path) + 8).next_multiple_of(16) + 16 * number
    }

    pub(crate) fn nlink(&mut self, path: &str, nlink: u16) {
        let compact = self.inode(path).size_on_disk() == 32;
        self.field(path, if compact { 6 } else { 44 }, &nlink.to_le_bytes());
    }
}

/// All cases.
pub(crate) fn cases() -> impl Iterator<Item = &'static Case> {
    [SUPERBLOCK, DIRECTORIES, INODES, XATTRS, MAPS, DATA].into_iter().flatten()
}

/// The devices of a case.
pub(crate) fn built((_, golden, change, _): &Case) -> Vec<Vec<u8>> {
    let mut patch = Patch::new(golden);
    change(&mut patch);
    patch.sealed()
}
