//! Plants a tree on disk with everything that a Linux filesystem can hold.
//!
//! [`plant`] makes it on disk: every kind of file, and of each attribute the values at its limits. What the process
//! may not make, or the filesystem can't hold, is left out and reported.

mod attributes;
mod bed;
mod files;
mod names;
mod specials;

use std::{collections::BTreeSet, path::Path};

pub use bed::Nasty;
pub use files::plant_huge;

use self::bed::Bed;
use crate::tier;

/// Plants the tree in `folder`, which exists and is empty.
pub fn plant(folder: &Path, what: Nasty) {
    plant_with(folder, |bed| {
        files::plant(bed);
        names::plant(bed, what);
        specials::plant(bed, what);
        attributes::plant(bed);
    });
}

/// Plants only files that share extended attributes, and have some of their own.
pub fn plant_shared_xattrs(folder: &Path) {
    plant_with(folder, attributes::plant_shared_xattrs);
}

fn plant_with(folder: &Path, plant: impl FnOnce(&mut Bed)) {
    let mut bed = Bed { root: folder.to_owned(), left_out: BTreeSet::new() };
    plant(&mut bed);
    for reason in bed.left_out {
        tier::skip("nasty tree", reason);
    }
}
