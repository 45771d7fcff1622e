//! Defines [`Planted`], a tree on disk of which a test builds images.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lith::source::Source;
use tempfile::TempDir;

use crate::{image, place};

/// A tree on disk of which a test builds images.
#[derive(Debug)]
pub struct Planted {
    /// Its folder.
    pub tree: PathBuf,
    /// The same, as a source.
    pub source: Source,
    /// Where an image of it may be.
    pub image: PathBuf,
    /// What holds tree and image; removed on drop.
    pub folder: TempDir,
}

impl Planted {
    /// The tree that `plant` makes in an empty folder.
    pub fn new(plant: impl FnOnce(&Path)) -> Self {
        let folder = place::folder();
        let [tree, image] = ["tree", "image"].map(|name| folder.path().join(name));
        fs::create_dir(&tree).unwrap();
        plant(&tree);
        let source = image::directory(&tree);
        Self { tree, source, image, folder }
    }
}
