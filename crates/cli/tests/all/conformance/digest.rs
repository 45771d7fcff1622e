//! Checks that both programs accept the digests of files that the other records.

use std::{fs, process::Output};

use lith::{
    device::MemoryDevice,
    digest_name,
    reader::Image,
    tree::{Aspects, Difference},
};
use lith_testkit::compare;

use super::bed::Bed;

/// Options, and the name of the digests that they request.
const OPTIONS: [(&str, &str); 8] = [
    ("--xattr-inode-digest", "erofs.fingerprint.v1"),
    ("--xattr-inode-digest=user.fp.v1", "user.fp.v1"),
    ("--xattr-inode-digest=trusted.digest -zlz4hc -C65536 -Efragments,dedupe", "trusted.digest"),
    ("--xattr-inode-digest=digest -zlz4 -Eall-fragments,plain-xattr-prefixes", "digest"),
    ("--xattr-inode-digest=user.fp --xattr-prefix=user. -zzstd -Eztailpacking", "user.fp"),
    ("--xattr-prefix=user.fp --xattr-inode-digest=user.fp --chunksize=4096", "user.fp"),
    ("--xattr-inode-digest=system.digest -x0 -b1024", "system.digest"),
    ("--tar=f --xattr-inode-digest=user.tar -zlz4", "user.tar"),
];

/// Makes the images `ours` and `theirs`.
fn make_both(bed: &Bed, options: &str) {
    let source = if options.contains("--tar") { "tree.tar" } else { "tree" };
    for image in ["ours", "theirs"] {
        let _not_there_at_first = fs::remove_file(bed.path(image));
        let line = format!("{options} -T1600000000 --mkfs-time {image} {source}");
        let arguments: Vec<_> = line.split_whitespace().collect();
        let made = match image {
            "ours" => bed.ours("mkfs.erofs", &arguments, None),
            _ => bed.theirs("mkfs.erofs", &arguments),
        };
        assert!(made.status.success(), "{line}: {}", text(&made));
    }
}

fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

fn open(bed: &Bed, image: &str) -> Image {
    Image::open(MemoryDevice::new(fs::read(bed.path(image)).unwrap())).unwrap()
}

/// Attributes: names and values.
type Named = Vec<(Vec<u8>, Vec<u8>)>;

/// The attributes of each inode by its path, including those that Linux hides.
fn xattrs(image: &Image) -> Vec<(Vec<u8>, Named)> {
    let of = |visit: lith::reader::FileEntry| {
        let mut xattrs: Vec<_> = image
            .xattrs_with_hidden(&visit.inode)
            .unwrap()
            .into_iter()
            .map(|xattr| (xattr.name, xattr.value))
            .collect();
        xattrs.sort();
        (visit.path, xattrs)
    };
    let mut all: Vec<_> = image.files().map(|visit| of(visit.unwrap())).collect();
    all.sort();
    all
}

#[test]
fn both_record_the_same_digests_and_accept_those_of_the_other() {
    let Some(bed) = Bed::new() else { return };
    for (options, name) in OPTIONS {
        make_both(&bed, options);
        let (ours, theirs) = (open(&bed, "ours"), open(&bed, "theirs"));
        assert_eq!(digest_name(&ours).unwrap(), name.as_bytes());
        assert_eq!(digest_name(&theirs).unwrap(), name.as_bytes());
        let recorded = xattrs(&ours);
        assert!(recorded.iter().any(|(_, all)| all.iter().any(|(of, _)| of == name.as_bytes())));
        assert_eq!(recorded, xattrs(&theirs), "{options}");
        let (left, right) = (bed.open_at("theirs", None), bed.open_at("ours", None));
        let (left, right) = (left.filesystem(), right.filesystem());
        let found = compare::differences(left, right, Aspects::empty());
        let shown: Vec<_> = found.iter().take(5).map(Difference::to_string).collect();
        assert!(shown.is_empty(), "{options}: {shown:?}");
        for image in ["ours", "theirs"] {
            let arguments = ["--xattr-inode-digest", image];
            let checked = bed.theirs("fsck.erofs", &arguments);
            assert!(checked.status.success(), "{options}: {image}: {}", text(&checked));
            let checked = bed.ours("fsck.erofs", &arguments, None);
            assert!(checked.status.success(), "{options}: {image}: {}", text(&checked));
        }
    }
}

#[test]
fn erofs_utils_find_a_wrong_digest_in_our_image() {
    let Some(bed) = Bed::new() else { return };
    make_both(&bed, "--xattr-inode-digest -Enosbcrc");
    let mut bytes = fs::read(bed.path("ours")).unwrap();
    let at = bytes.windows(7).position(|window| window == b"sha256:").unwrap();
    bytes[at + 7] ^= 1;
    fs::write(bed.path("ours"), bytes).unwrap();
    assert!(!bed.theirs("fsck.erofs", &["--xattr-inode-digest", "ours"]).status.success());
    assert!(!bed.ours("fsck.erofs", &["--xattr-inode-digest", "ours"], None).status.success());
}
