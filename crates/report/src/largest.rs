//! Which files are the largest?

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    facts::{LargeFile, Located, Sums},
    folders::{FolderIndex, Folders},
};

/// The files of a ranking.
#[derive(Debug)]
pub(crate) struct Ranking {
    /// The smallest on top.
    files: BinaryHeap<Reverse<Ranked>>,
    most: usize,
    seen: u64,
}

/// A file that was met in a folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetFile<'a> {
    pub(crate) folder: FolderIndex,
    pub(crate) name: &'a [u8],
    pub(crate) sums: Sums,
}

/// A file by what it is ranked by; of two that are equal the one met first is the larger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Ranked {
    by: u64,
    met: Reverse<u64>,
    bytes: u64,
    stored: u64,
    folder: FolderIndex,
    name: Vec<u8>,
}

impl Ranking {
    /// A ranking that ends after so many files.
    pub(crate) fn new(most: usize) -> Self {
        Self { files: BinaryHeap::new(), most, seen: 0 }
    }

    /// Looks at a file that is ranked by `by`, one of its sums.
    pub(crate) fn see(&mut self, by: u64, sums: &Sums, (folder, name): (FolderIndex, &[u8])) {
        self.seen += 1;
        let is_full = self.files.len() >= self.most;
        let smallest = self.files.peek().map_or(0, |smallest| smallest.0.by);
        if by == 0 || (is_full && by <= smallest) {
            return;
        }
        let (met, bytes, stored) = (Reverse(self.seen), sums.bytes, sums.stored);
        self.files.push(Reverse(Ranked { by, met, bytes, stored, folder, name: name.to_vec() }));
        if is_full {
            self.files.pop();
        }
    }

    /// All in any order, each with its number: that of files met before is smaller.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, MetFile<'_>)> {
        self.files.iter().map(|Reverse(file)| {
            let sums = Sums { files: 1, bytes: file.bytes, stored: file.stored };
            (file.met.0, MetFile { folder: file.folder, name: &file.name, sums })
        })
    }

    /// The first so many, the largest first.
    pub(crate) fn finish(self, folders: &Folders, most: usize) -> Vec<LargeFile> {
        let sorted = self.files.into_sorted_vec().into_iter().take(most);
        let file = |Reverse(Ranked { bytes, stored, folder, name, .. })| LargeFile {
            path: Located(folders.path(folder, &name)),
            bytes,
            stored,
        };
        sorted.map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_of_equal_ones_the_first() {
        let folders = Folders::new();
        let mut ranking = Ranking::new(3);
        for (name, bytes) in [("a", 5), ("b", 9), ("c", 5), ("d", 0), ("e", 7), ("f", 1)] {
            let sums = Sums { files: 1, bytes, stored: 0 };
            ranking.see(bytes, &sums, (FolderIndex::ROOT, name.as_bytes()));
        }
        assert_eq!(ranking.iter().map(|(number, _)| number).sum::<u64>(), 1 + 2 + 5);
        let paths: Vec<_> =
            ranking.finish(&folders, 5).into_iter().map(|file| file.path.0).collect();
        assert_eq!(paths, [b"/b", b"/e", b"/a"]);
    }
}
