//! By which compressor is each file stored?

use lith_codec::Compressor;
use lith_tree::{InodeIndex, Kind, Tree};

use crate::{Compression, Options};

/// How files are compressed, with nothing left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coding {
    pub(crate) compressor: Compressor,
    /// Bytes of the largest pcluster.
    pub(crate) pcluster: u32,
    /// The least part of a file that must be saved, in percent.
    pub(crate) min_saving: u8,
}

/// What makes pclusters, and how large they are: what readers must be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) compressor: Compressor,
    /// Bytes of the largest pcluster.
    pub(crate) pcluster: u32,
}

impl Coding {
    /// What is used where it is used.
    pub(crate) const fn encoding(&self) -> Encoding {
        Encoding { compressor: self.compressor, pcluster: self.pcluster }
    }
}

/// How each file is compressed.
#[derive(Debug)]
pub(crate) struct Codings {
    /// All that differ, the image's own first. Nothing stores files plain.
    all: Vec<Option<Coding>>,
    /// Which of them each inode has, by its number in the tree; empty if all have the image's own.
    by_inode: Vec<usize>,
}

impl Codings {
    /// Finds for each regular file in `order` the first rule that is for it.
    pub(crate) fn new(options: &Options, tree: &Tree, order: &[InodeIndex]) -> Self {
        let resolve = |compression: &Compression| options.coding(compression);
        let mut all = vec![options.compression.as_ref().map(resolve)];
        if options.rules.is_empty() {
            return Self { all, by_inode: Vec::new() };
        }
        let numbers: Vec<usize> = options
            .rules
            .iter()
            .map(|rule| number_in(&mut all, rule.compression.as_ref().map(resolve)))
            .collect();
        let mut by_inode = vec![0; tree.len()];
        for inode in order {
            if !matches!(tree.get(*inode).kind, Kind::Regular { size: 1.. }) {
                continue;
            }
            let path = tree.path(*inode);
            let rule = options.rules.iter().position(|rule| rule.files.includes(&path));
            let number = rule.and_then(|rule| numbers.get(rule)).copied();
            if let (Some(slot), Some(number)) = (by_inode.get_mut(inode.index()), number) {
                *slot = number;
            }
        }
        Self { all, by_inode }
    }

    /// The number of a file's coding: files of equal numbers are stored alike, those of 0 as the packed inode is, which
    /// has 0 itself.
    pub(crate) fn number(&self, inode: InodeIndex) -> usize {
        self.by_inode.get(inode.index()).copied().unwrap_or(0)
    }

    /// The coding of a file; nothing if it is stored plain.
    pub(crate) fn of(&self, inode: InodeIndex) -> Option<&Coding> {
        self.all.get(self.number(inode))?.as_ref()
    }

    /// Whether some file may be compressed.
    pub(crate) fn compress(&self) -> bool {
        self.all.iter().any(Option::is_some)
    }
}

/// The number of `coding` in `all`, where it is put if it is new.
fn number_in(all: &mut Vec<Option<Coding>>, coding: Option<Coding>) -> usize {
    all.iter().position(|known| *known == coding).unwrap_or_else(|| {
        all.push(coding);
        all.len() - 1
    })
}
