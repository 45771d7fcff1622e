//! Defines [`Folders`], which sums up files by folder and selects the folders that are listed.

use std::cmp::Reverse;

use crate::facts::{Folder, FolderFile, Named, Sums};

/// The most folders that are listed.
const FOLDERS: usize = 1000;
/// Nested folders that are listed.
const LEVELS: usize = 10;
/// Names and bytes that a path has at most; of a longer one only the end is kept.
const PATH_LEVELS: usize = 2048;
const PATH_BYTES: usize = 4096;

/// A folder's number; that of the root is 0, and each has a larger one than the folder it is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct FolderIndex(usize);

impl FolderIndex {
    pub(crate) const ROOT: Self = Self(0);
}

/// A name in a folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) folder: FolderIndex,
    pub(crate) name: &'a [u8],
}

/// A large file with its sums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LargeEntry<'a> {
    pub(crate) entry: Entry<'a>,
    pub(crate) sums: Sums,
}

/// All folders of an image.
#[derive(Debug)]
pub(crate) struct Folders {
    all: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    parent: FolderIndex,
    name: Box<[u8]>,
    level: usize,
    /// Sums over the files in it; in [`Folders::root`] over all below it.
    sums: Sums,
}

impl Node {
    fn new(Entry { folder, name }: Entry<'_>, level: usize) -> Self {
        Self { parent: folder, name: name.into(), level, sums: Sums::default() }
    }

    /// Whether it may be listed: it is not too deep, and has files with content unless it is the root.
    fn is_listable(&self) -> bool {
        self.level < LEVELS && (self.level == 0 || self.sums.bytes > 0 || self.sums.stored > 0)
    }
}

impl Folders {
    pub(crate) fn new() -> Self {
        Self { all: vec![Node::new(Entry { folder: FolderIndex::ROOT, name: b"" }, 0)] }
    }

    /// Adds a folder in another one.
    pub(crate) fn add(&mut self, entry: Entry<'_>) -> FolderIndex {
        let index = FolderIndex(self.all.len());
        let level = self.all.get(entry.folder.0).map_or(0, |node| node.level.saturating_add(1));
        self.all.push(Node::new(entry, level));
        index
    }

    /// Adds sums over files in a folder.
    pub(crate) fn count(&mut self, folder: FolderIndex, sums: &Sums) {
        if let Some(node) = self.all.get_mut(folder.0) {
            node.sums.add(sums);
        }
    }

    /// The path of an entry, from the root on.
    pub(crate) fn path(&self, Entry { folder, name }: Entry<'_>) -> Vec<u8> {
        let (mut names, mut at, mut length) = (vec![name], folder, name.len());
        while at != FolderIndex::ROOT {
            let Some(node) = self.all.get(at.0) else { break };
            length = length.saturating_add(node.name.len()).saturating_add(1);
            if length > PATH_BYTES || names.len() > PATH_LEVELS {
                names.push(b"...");
                break;
            }
            names.push(&node.name);
            at = node.parent;
        }
        names.push(b"");
        names.reverse();
        names.join(&b'/')
    }

    /// The root with those folders below it that have most bytes before and after compression, and with the large files
    /// in them.
    pub(crate) fn root<'a>(mut self, large: impl Iterator<Item = LargeEntry<'a>>) -> Folder {
        self.sum_up();
        let total = self.all.first().map(|root| root.sums).unwrap_or_default();
        let mut order: Vec<_> = self
            .all
            .iter()
            .enumerate()
            .map(|(index, node)| (Reverse(weight(&node.sums, &total)), index))
            .collect();
        // A folder is sorted before the folders in it: it weighs at least as much, and has a smaller number.
        order.sort_unstable();
        let listed = order.into_iter().map(|(_, index)| index);
        let listed = listed.filter(|index| self.all.get(*index).is_some_and(Node::is_listable));
        let mut listed: Vec<_> = listed.take(FOLDERS).collect();
        listed.sort_unstable();
        self.assemble(&listed, large)
    }

    /// The folder that each is in, its name, and sums over the files in it. The root comes first, and its own number is that
    /// of no folder that precedes it.
    pub(crate) fn own(&self) -> impl Iterator<Item = (usize, &[u8], &Sums)> {
        self.all.iter().map(|node| (node.parent.0, &*node.name, &node.sums))
    }

    fn sum_up(&mut self) {
        for index in (1..self.all.len()).rev() {
            let Some((parent, sums)) = self.all.get(index).map(|node| (node.parent, node.sums))
            else {
                break;
            };
            if let Some(parent) = self.all.get_mut(parent.0) {
                parent.sums.add(&sums);
            }
        }
    }

    /// The root with the folders of these numbers, which are in order and include the parent of each.
    fn assemble<'a>(
        &self,
        listed: &[usize],
        large: impl Iterator<Item = LargeEntry<'a>>,
    ) -> Folder {
        let nodes = listed.iter().filter_map(|index| self.all.get(*index));
        let mut folders: Vec<_> =
            nodes.map(|node| Some(Folder::empty(&node.name, node.sums))).collect();
        for LargeEntry { entry: Entry { folder, name }, sums } in large {
            let position = listed.binary_search(&folder.0).ok();
            let Some(folder) = position.and_then(|at| folders.get_mut(at)?.as_mut()) else {
                continue;
            };
            let (name, Sums { bytes, stored, .. }) = (Named(name.to_vec()), sums);
            folder.large_files.push(FolderFile { name, bytes, stored });
            folder.rest = difference(&folder.rest, &sums);
        }
        // In descending order each folder is complete when it moves into its parent.
        for place in (1..listed.len()).rev() {
            let taken = folders.get_mut(place).and_then(Option::take);
            let node = listed.get(place).and_then(|index| self.all.get(*index));
            let (Some(mut taken), Some(node)) = (taken, node) else { continue };
            taken.sort();
            let parent = listed.binary_search(&node.parent.0).ok();
            let parent = parent.and_then(|at| folders.get_mut(at)?.as_mut());
            if let Some(parent) = parent {
                parent.rest = difference(&parent.rest, &taken.all);
                parent.folders.push(taken);
            }
        }
        let root = folders.into_iter().next().flatten();
        let mut root = root.unwrap_or_else(|| Folder::empty(b"", Sums::default()));
        root.sort();
        root
    }
}

impl Folder {
    /// A folder without files and folders so far.
    fn empty(name: &[u8], all: Sums) -> Self {
        let (large_files, folders) = (Vec::new(), Vec::new());
        Self { name: Named(name.to_vec()), all, rest: all, large_files, folders }
    }

    fn sort(&mut self) {
        self.folders.sort_by_cached_key(|folder| Reverse(folder.all.stored));
        self.large_files.sort_by_cached_key(|file| Reverse(file.stored));
    }
}

/// The weight of sums: their share of all bytes before and after compression, added.
fn weight(sums: &Sums, total: &Sums) -> u128 {
    let bytes = u128::from(sums.bytes) * u128::from(total.stored.max(1));
    bytes.saturating_add(u128::from(sums.stored) * u128::from(total.bytes.max(1)))
}

fn difference(all: &Sums, part: &Sums) -> Sums {
    Sums {
        files: all.files.saturating_sub(part.files),
        bytes: all.bytes.saturating_sub(part.bytes),
        stored: all.stored.saturating_sub(part.stored),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(bytes: u64) -> Sums {
        Sums { files: 1, bytes, stored: bytes / 2 }
    }

    /// Whether the sums of a folder are those of what is in it.
    fn check(folder: &Folder) {
        let mut sum = folder.rest;
        folder.folders.iter().for_each(|inner| sum.add(&inner.all));
        folder.large_files.iter().for_each(|file| sum.add(&file.sums()));
        assert_eq!(sum, folder.all);
        folder.folders.iter().for_each(check);
    }

    #[test]
    fn sums_hold_for_all_levels() {
        let mut folders = Folders::new();
        let entry = |folder, name| Entry { folder, name };
        let usr = folders.add(entry(FolderIndex::ROOT, b"usr"));
        let lib = folders.add(entry(usr, b"lib"));
        let bin = folders.add(entry(usr, b"bin"));
        folders.count(lib, &sums(100));
        folders.count(bin, &sums(40));
        folders.count(usr, &sums(2));
        folders.count(FolderIndex::ROOT, &sums(10));
        assert_eq!(folders.path(entry(lib, b"x")), b"/usr/lib/x");
        assert_eq!(folders.path(entry(FolderIndex::ROOT, b"x")), b"/x");
        let large = LargeEntry { entry: entry(bin, b"sh"), sums: sums(40) };
        let root = folders.root([large].into_iter());
        check(&root);
        let bin = &root.folders[0].folders[1];
        assert_eq!((&*bin.large_files[0].name.0, bin.rest.files), (&b"sh"[..], 0));
        assert_eq!((root.all.bytes, root.all.files, root.rest.bytes), (152, 4, 10));
        let names: Vec<_> = root.folders[0].folders.iter().map(|f| &*f.name.0).collect();
        assert_eq!(names, [&b"lib"[..], b"bin"]);
    }

    #[test]
    fn the_number_of_listed_folders_is_limited() {
        let mut folders = Folders::new();
        let mut deep = FolderIndex::ROOT;
        for _ in 0..10_000 {
            deep = folders.add(Entry { folder: deep, name: b"d" });
        }
        folders.count(deep, &sums(5));
        let path = folders.path(Entry { folder: deep, name: b"end" });
        assert!(path.starts_with(b"/.../d/") && path.ends_with(b"/d/end"), "{path:?}");
        assert!(path.len() < 5000);
        for number in 0..5000_u32 {
            let name = &number.to_le_bytes()[..];
            let folder = folders.add(Entry { folder: FolderIndex::ROOT, name });
            folders.count(folder, &sums(number.into()));
        }
        let root = folders.root([].into_iter());
        check(&root);
        assert!(root.folders.len() > 900 && root.folders.len() <= FOLDERS);
        assert_eq!(root.all.files, 5001);
    }
}
