//! The nasty tree in every kind of image, as the library, Linux and FUSE show it.
#![allow(clippy::unwrap_used, reason = "in tests failures should be loud")]

use std::fs;

use lith::tree::Filesystem;
use lith_fuse::Options;
use lith_testkit::{
    compare, image, matrix, nasty,
    nasty::Nasty,
    oracle::{fuse, kernel},
    planted::Planted,
};

use super::{fuse::assert_fuse_sees, kernel::assert_kernel_sees};

/// Of so many kinds FUSE shows one: what it adds does not depend on the kind.
const SHOWN_BY_FUSE: usize = 10;

#[test]
fn the_nasty_tree_comes_back_from_every_kind_of_image() {
    let (has_kernel, has_fuse) = (kernel::is_there(), fuse::is_there());
    let Planted { tree, source, image: path, folder: _folder } =
        Planted::new(|tree| nasty::plant(tree, Nasty::Whole));
    for (number, (name, options)) in matrix::all(16).into_iter().enumerate() {
        let report = image::workers(2).build_directory(&tree, &path, &options);
        assert_eq!(report.image_bytes, fs::metadata(&path).unwrap().len(), "{name}");
        let mut expected = source.tree.clone();
        image::add_digests(&mut expected, &*source.contents, &options);
        let expected = Filesystem::new(&expected, &*source.contents);
        compare::assert_same(expected, image::open(&path).filesystem(), &name);
        let block = options.layout.block;
        if has_kernel && block.bits() <= kernel::most_block_bits() {
            assert!(assert_kernel_sees(expected, &path, &name));
            let size = kernel::mount(&path).unwrap().statistics().f_bsize;
            assert_eq!(size, u64::from(block.size()), "{name}");
        }
        if has_fuse && number % SHOWN_BY_FUSE == 0 {
            let served = fuse::serve(fuse::open(&path), &Options::default());
            assert_fuse_sees(expected, &served, &name);
        }
    }
}
