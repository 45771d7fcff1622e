//! erofs-utils find in our images, and we in theirs, what the source tree holds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{ffi::OsStr, fs, path::PathBuf};

use lith::{
    codec::Compressor,
    source::Source,
    tree::{Aspects, Change, Difference, Kind},
};
use lith_testkit::{
    compare, image, matrix, nasty, nasty::Nasty, oracle::tools::Tools, place, tier,
};
use tempfile::TempDir;

struct Bed {
    tools: Tools,
    folder: TempDir,
    source: Source,
}

impl Bed {
    /// A tree without paths beyond `PATH_MAX`, which erofs-utils can't take.
    fn new() -> Option<Self> {
        let tools = Tools::find()?;
        let folder = place::folder();
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        nasty::plant(&tree, Nasty::ForTar);
        for whiteout in ["special/c-whiteout", "special/b-whiteout"] {
            // mkfs.erofs marks folders that hold one.
            let _not_made_without_root = fs::remove_file(tree.join(whiteout));
        }
        let source = image::directory(&tree);
        Some(Self { tools, folder, source })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, tool: &str, words: &str) -> Vec<u8> {
        let args: Vec<_> = words.split(' ').map(OsStr::new).collect();
        self.tools.expect(self.folder.path(), tool, &args)
    }

    /// Only with a time that no file has do all files keep their own.
    fn make_theirs(&self, options: &[&str]) {
        let words =
            [options, &["-T1600000000", "--mkfs-time", "--quiet", "theirs", "tree"]].concat();
        self.run("mkfs.erofs", &words.join(" "));
    }

    fn make_ours(&self, options: &lith::builder::Options) {
        image::build_at(&self.path("ours"), self.source.filesystem(), options);
    }
}

#[test]
fn fsck_finds_nothing_in_our_images() {
    let Some(bed) = Bed::new() else { return };
    for (name, options) in matrix::all(if bed.tools.version >= (1, 6) { 12 } else { 11 }) {
        if options.layout.block.bits() < 12 && bed.tools.version < (1, 6) {
            continue;
        }
        bed.make_ours(&options);
        println!("{name}");
        // Whole files are only decoded when they are to be extracted.
        bed.run("fsck.erofs", "--extract ours");
    }
}

#[test]
fn fsck_extracts_what_the_source_holds() {
    let Some(bed) = Bed::new() else { return };
    if bed.tools.version < (1, 9) {
        return tier::skip("fsck.erofs --extract", "erofs-utils before 1.9 lose attributes");
    }
    // Symlinks and folders get the time of extraction; ACLs come back as far as the mode says.
    let lost = Aspects::MTIME | Aspects::XATTRS | Aspects::PERMISSIONS;
    for options in [
        image::plain(),
        image::compressed(Compressor::Lz4, 4096),
        image::compressed(image::lz4hc(12), 65536),
        image::compressed(image::lz4hc(4), 1 << 20),
    ] {
        bed.make_ours(&options);
        bed.run("fsck.erofs", "--extract=extracted --xattrs --preserve ours");
        let extracted = image::directory(&bed.path("extracted"));
        compare::assert_same_but_for(
            bed.source.filesystem(),
            extracted.filesystem(),
            lost,
            "fsck --extract",
        );
        fs::remove_dir_all(bed.path("extracted")).unwrap();
    }
}

#[test]
fn dump_shows_our_files() {
    let Some(bed) = Bed::new() else { return };
    if bed.tools.version < (1, 8) {
        return tier::skip("dump.erofs --cat", "erofs-utils before 1.8 have none");
    }
    bed.make_ours(&image::compressed(image::lz4hc(9), 65536));
    let fs = bed.source.filesystem();
    let tree = fs.tree;
    for path in ["half-and-half", "Text-4097", "large-9437184", "Mixed-65537", "Noise-8191"] {
        let path = format!("sizes/{path}");
        let inode = tree.find(path.as_bytes()).unwrap();
        let Kind::Regular { size } = tree.get(inode).kind else { panic!("{path}") };
        let mut expected = vec![0; usize::try_from(size).unwrap()];
        fs.open(inode).unwrap().read_at(&mut expected, 0).unwrap();
        let found = bed.run("dump.erofs", &format!("--cat --path=/{path} ours"));
        assert!(found == expected, "{path}");
    }
    let statistics = bed.run("dump.erofs", "-s -S ours");
    assert!(!statistics.is_empty());
}

/// What mkfs.erofs is asked for, and since which version it can do that right.
const THEIRS: [(&str, (u32, u32)); 20] = [
    ("", (1, 0)),
    ("-Enoinline_data", (1, 0)),
    ("-zlz4", (1, 0)),
    ("-zlz4hc,3 -C16384", (1, 4)),
    ("-zlz4hc,1 -C65536", (1, 4)),
    ("-zlz4 -C1048576", (1, 4)),
    ("-zlz4 -Elegacy-compress", (1, 4)),
    ("--chunksize=4096", (1, 4)),
    ("--chunksize=65536", (1, 4)),
    ("-zlz4 -Eztailpacking", (1, 9)),
    ("-zlz4 -C65536 -Eztailpacking", (1, 9)),
    ("-zlz4 -Efragments", (1, 9)),
    ("-zlz4hc,3 -C65536 -Eall-fragments", (1, 9)),
    ("-zlz4 -Ededupe", (1, 9)),
    ("-zlz4hc,3 -C65536 -Efragments,dedupe,ztailpacking", (1, 9)),
    ("-b512", (1, 9)),
    ("-b1024 -zlz4", (1, 9)),
    ("-m4096:lz4 -zlz4", (1, 9)),
    ("--xattr-prefix=user. --xattr-prefix=security.sel", (1, 9)),
    ("--zD -zlz4 -Efragments", (1, 9)),
];

/// What mkfs.erofs 1.9.4 is known to write wrong, so that Linux reads it wrong too.
///
/// With a metabox all inodes are compact that need not be extended for another reason than their times, which are cut.
/// With ztailpacking a file of somewhat less than a block that begins with zeros and doesn't compress is stored plain,
/// but at the end of its block, where compressed data would be.
fn is_known(options: &str, difference: &Difference) -> bool {
    match difference.change {
        Change::Mtime(..) => options.contains("-m4096"),
        Change::Content { .. } => {
            options.contains("ztailpacking") && *difference.path == *b"sizes/Mixed-4033"
        }
        _ => false,
    }
}

#[test]
fn we_find_in_their_images_what_the_source_holds() {
    let Some(bed) = Bed::new() else { return };
    let theirs = bed.path("theirs");
    for (options, since) in THEIRS {
        if bed.tools.version < since {
            tier::skip("mkfs.erofs", format!("{:?} can't do {options}", bed.tools.version));
            continue;
        }
        let words: Vec<_> = options.split(' ').filter(|word| !word.is_empty()).collect();
        bed.make_theirs(&words);
        let read = image::open(&theirs);
        let (ours, theirs_read) = (bed.source.filesystem(), read.filesystem());
        let mut found = compare::differences(ours, theirs_read, Aspects::empty());
        found.retain(|difference| !is_known(options, difference));
        assert!(found.is_empty(), "mkfs.erofs {options}: {found:?}");
        fs::remove_file(&theirs).unwrap();
    }
}

#[test]
fn an_image_of_their_image_is_our_image_of_the_source() {
    let Some(bed) = Bed::new() else { return };
    bed.make_theirs(&["-zlz4"]);
    let options = image::compressed(Compressor::Lz4, 65536);
    let read = image::open(&bed.path("theirs"));
    let ours = image::build(bed.source.filesystem(), &options);
    assert!(ours == image::build(read.filesystem(), &options));
}
