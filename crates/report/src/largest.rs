//! Defines [`Ranking`], which keeps the largest files.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    facts::{LargeFile, Located, Sums},
    folders::{Entry, FolderIndex, Folders, LargeEntry},
};

/// The files of a ranking.
#[derive(Debug)]
pub(crate) struct Ranking {
    /// The smallest on top.
    files: BinaryHeap<Reverse<Ranked>>,
    most: usize,
    seen: u64,
}

/// A file in the order of the ranking; of equal files the one met first is the larger.
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
    /// A ranking that keeps `most` files.
    pub(crate) fn new(most: usize) -> Self {
        Self { files: BinaryHeap::new(), most, seen: 0 }
    }

    /// Adds a file that is ranked by `by`, one of its sums.
    pub(crate) fn see(&mut self, by: u64, sums: &Sums, Entry { folder, name }: Entry<'_>) {
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

    /// All files in no particular order, each with its number: that of files met before is smaller.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, LargeEntry<'_>)> {
        self.files.iter().map(|Reverse(file)| {
            let sums = Sums { files: 1, bytes: file.bytes, stored: file.stored };
            let entry = Entry { folder: file.folder, name: &file.name };
            (file.met.0, LargeEntry { entry, sums })
        })
    }

    /// The first `most` files, the largest first.
    pub(crate) fn largest(&self, folders: &Folders, most: usize) -> Vec<LargeFile> {
        let mut files: Vec<_> = self.files.iter().map(|Reverse(file)| file).collect();
        files.sort_unstable_by(|one, next| next.cmp(one));
        let file = |Ranked { bytes, stored, folder, name, .. }: &Ranked| LargeFile {
            path: Located(folders.path(Entry { folder: *folder, name })),
            bytes: *bytes,
            stored: *stored,
        };
        files.into_iter().take(most).map(file).collect()
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
            let (folder, name) = (FolderIndex::ROOT, name.as_bytes());
            ranking.see(bytes, &sums, Entry { folder, name });
        }
        assert_eq!(ranking.iter().map(|(number, _)| number).sum::<u64>(), 1 + 2 + 5);
        let paths: Vec<_> =
            ranking.largest(&folders, 5).into_iter().map(|file| file.path.0).collect();
        assert_eq!(paths, [b"/b", b"/e", b"/a"]);
    }
}
