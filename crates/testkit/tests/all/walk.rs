//! A walk through an image visits what was put into it.
#![allow(clippy::unwrap_used, reason = "in tests failures should be loud")]

use lith::{
    device::MemoryDevice,
    format::file_type::FileType,
    reader::{Corruption, Error, Image},
    tree::{Filesystem, InodeIndex, Kind, MemoryContents, Metadata, Name, Tree},
};
use lith_testkit::{
    image,
    noise::{Texture, bytes},
    recipe,
};

fn open(tree: &Tree, contents: &MemoryContents) -> Image {
    let built = image::build(
        Filesystem::new(tree, contents),
        &image::compressed("lz4".parse().unwrap(), 4096),
    );
    Image::open(MemoryDevice::new(built)).unwrap()
}

#[test]
fn walks_visit_the_tree_that_was_built() {
    for seed in 0..20 {
        let (tree, contents) = recipe::from_bytes(&bytes(Texture::Noise, seed, 900)).follow();
        let image = open(&tree, &contents);
        let mut names: Vec<&[u8]> = Vec::new();
        let mut visits = image.files();
        for expected in tree.walk().skip(1) {
            names.truncate(expected.depth - 1);
            names.push(expected.name.unwrap().as_bytes());
            let visit = visits.next().unwrap().unwrap();
            assert_eq!(visit.path, names.join(&b'/'), "seed {seed}");
            let is_directory = tree.get(expected.inode).as_directory().is_some();
            assert_eq!(visit.inode.file_type == FileType::Directory, is_directory);
        }
        assert!(visits.next().is_none());
    }
}

#[test]
fn walks_end_at_a_depth() {
    let mut tree = Tree::new(Metadata::default());
    let mut parent = InodeIndex::ROOT;
    for _ in 0..2200 {
        let name = Name::new(b"d").unwrap();
        parent = tree.add(parent, name, Metadata::default(), Kind::directory()).unwrap();
    }
    let image = open(&tree, &MemoryContents::default());
    let visits: Vec<_> = image.files().collect();
    assert_eq!(visits.len(), 2049);
    let last = visits.last().unwrap().as_ref().unwrap_err();
    let depth = Corruption::DirectoryDepth { limit: 2048 };
    let Error::File { path, source } = last else { panic!("{last:?}") };
    assert_eq!(path.len(), 2 * 2048 - 1);
    assert!(matches!(&**source, Error::Corrupt { source, .. } if *source == depth), "{last:?}");
}
