//! SquashFS images that mksquashfs makes of a tree hold what the tree holds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use std::{ffi::OsStr, fs};

use lith::{
    builder::Options,
    device::FileDevice,
    source,
    tree::{InodeIndex, Tree, Xattr},
};
use lith_testkit::{compare, image, nasty, nasty::Nasty, oracle::tools::Tools, place};

/// Options of mksquashfs.
const IMAGES: [&str; 10] = [
    "-comp gzip",
    "-comp lzma",
    "-comp lzo",
    "-comp xz",
    "-comp lz4",
    "-comp zstd",
    "-comp xz -b 1M -Xbcj x86,arm",
    "-comp lzo -Xalgorithm lzo1x_1 -b 4096 -no-fragments",
    "-comp lz4 -noI -noId -noD -noF -noX -no-exports",
    "-comp zstd -tailends -no-duplicates -no-sparse",
];

/// What SquashFS can hold of a tree: whole seconds in 32 bits, and no ACLs.
fn reduce(tree: &mut Tree) {
    let indices = (0..tree.len()).scan(InodeIndex::ROOT, |at, _| {
        let now = *at;
        *at = at.next();
        Some(now)
    });
    for index in indices.collect::<Vec<_>>() {
        let mut metadata = tree.get(index).metadata;
        let xattrs: Vec<Xattr> = tree.xattrs.get(metadata.xattrs).to_vec();
        let kept = xattrs.into_iter().filter(|xattr| !xattr.name.starts_with(b"system."));
        metadata.xattrs = tree.xattrs.intern(kept.collect::<Vec<_>>());
        metadata.mtime.nsec = 0;
        // What is out of range is 0 to mksquashfs.
        metadata.mtime.sec = u32::try_from(metadata.mtime.sec).map_or(0, i64::from);
        tree.get_mut(index).metadata = metadata;
    }
}

#[test]
fn mksquashfs_images_are_their_trees() {
    let Some(tools) = Tools::find() else { return };
    let folder = place::folder();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).unwrap();
    nasty::plant(&tree, Nasty::ForTar);
    let mut expected = image::directory(&tree);
    reduce(&mut expected.tree);
    for options in IMAGES {
        let words = format!("tree image {options} -noappend -no-progress -quiet");
        let args: Vec<_> = words.split(' ').map(OsStr::new).collect();
        let _printed = tools.expect(folder.path(), "mksquashfs", &args);
        let path = folder.path().join("image");
        let device = FileDevice::open(&path).unwrap();
        let source = source::squashfs(device, &path, &source::Options::default()).unwrap();
        compare::assert_same(expected.filesystem(), source.filesystem(), options);
        // And an image of it is the same again, with its contents read by several threads.
        let built = image::open_bytes(image::build(source.filesystem(), &Options::default()));
        compare::assert_same(expected.filesystem(), built.filesystem(), options);
    }
}
