//! Reads the list of golden images and what each of them holds.

use std::{fs, path::PathBuf, sync::Arc};

use lith::{
    device::{FileDevice, ReadAt},
    reader::{Image, Options},
    source::{self, Source},
};

/// A line of `tests/golden/images.txt`.
#[derive(Clone, Debug)]
pub struct Golden {
    /// The image's name, without its ending.
    pub name: String,
    /// The name of the tree it was made from.
    pub tree: String,
    /// Further devices.
    pub devices: Vec<String>,
}

/// The folder of the golden images.
#[must_use]
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// A text file in it.
#[must_use]
pub fn text(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

/// The rows of a table in it, split at spaces.
#[must_use]
pub fn rows(name: &str) -> Vec<Vec<String>> {
    let text = text(name);
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// All golden images.
#[must_use]
pub fn all() -> Vec<Golden> {
    let golden = |row: Vec<String>| Golden {
        name: row[0].clone(),
        tree: row[1].clone(),
        devices: row[2].split(',').filter(|name| *name != "-").map(str::to_owned).collect(),
    };
    rows("images.txt").into_iter().map(golden).collect()
}

impl Golden {
    /// The files that the image consists of, the primary device first.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let names = std::iter::once(format!("{}.erofs", self.name)).chain(self.devices.clone());
        names.map(|name| folder().join(name)).collect()
    }

    /// The tree in the image.
    #[must_use]
    pub fn open(&self) -> Source {
        let open = |path: &PathBuf| Box::new(FileDevice::open(path).unwrap()) as Box<dyn ReadAt>;
        let files = self.files();
        let image = Image::open_with(files.iter().map(open).collect(), Options::default()).unwrap();
        source::image(Arc::new(image), &files[0], &source::Options::default()).unwrap()
    }
}
