//! Does each choice of layout do to an image what it says, and nothing to what the image holds?
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "in tests failures should be loud"
)]

use lith::{
    builder::Options,
    device::MemoryDevice,
    format::{file_type::FileType, inode::Layout},
    reader::{Image, Inode},
    tree::{MemoryContents, Tree},
};
use lith_testkit::{
    compare, image, layouts,
    noise::{self, Texture},
    oracle::kernel,
    place, recipe,
};

type Made = (Tree, MemoryContents);

/// A tree with a bit of everything.
fn mixed() -> Made {
    recipe::from_bytes(&noise::bytes(Texture::Noise, 1, 6000)).as_linux_allows().follow()
}

/// An image of a tree, which it holds.
fn open((tree, contents): &Made, options: &Options) -> Image {
    let bytes = image::build((tree, contents), options);
    let read = image::open_bytes(bytes.clone());
    compare::assert_same((tree, contents), compare::pair(&read), &format!("{options:?}"));
    Image::open(MemoryDevice::new(bytes)).unwrap()
}

/// All inodes that have a name.
fn inodes(tree: &Tree, image: &Image) -> Vec<Inode> {
    let paths = tree.walk().map(|visit| tree.path(visit.inode));
    paths.map(|path| image.resolve(&path).unwrap()).collect()
}

#[test]
fn linux_sees_the_same_in_each_layout() {
    if !kernel::is_there() {
        return;
    }
    let (tree, contents) = mixed();
    let folder = place::folder();
    let path = folder.path().join("image");
    for (name, options) in layouts::kinds() {
        image::build_at(&path, (&tree, &contents), &options);
        let mounted = kernel::mount(&path).unwrap();
        compare::assert_same((&tree, &contents), compare::pair(&mounted.tree()), &name);
        mounted.assert_stats(&tree);
    }
}

#[test]
fn without_inline_data_only_directories_and_links_have_any() {
    let made = mixed();
    let inline = |options: &Options| {
        let inodes = inodes(&made.0, &open(&made, options));
        let inline = inodes.into_iter().filter(|inode| inode.layout == Layout::FlatInline);
        let (files, others): (Vec<_>, Vec<_>) =
            inline.partition(|inode| inode.file_type == FileType::Regular);
        assert!(others.iter().any(|inode| inode.file_type == FileType::Directory));
        files.len()
    };
    assert!(inline(&image::plain()) > 0);
    assert_eq!(inline(&Options { inline_data: false, ..image::plain() }), 0);
}
